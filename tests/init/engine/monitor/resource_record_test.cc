// The "resources" events of a timeline.

#include "init/engine/monitor/resource_record.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "init/engine/monitor/resource_meter.h"
#include "init/proc/tree.h"
#include "tests/init/child.h"

namespace {

using engine::Job;
using engine::ResourceSample;
using testing::ElementsAre;

constexpr std::int64_t kKiB = 1024;

class ResourceRecord : public child::Scratch {
 protected:
  ResourceRecord() {
    timeline_.open(path("."));
    job_.plan.processes.resize(2);
    job_.plan.processes[0].name = "rank-0";
    job_.plan.processes[1].name = "rank-1";
  }
  void take(const ResourceSample& sample) { engine::take_resources(job_, timeline_, sample); }
  void end() { engine::end_resources(job_, timeline_); }
  // Texts of the events, without the age of the values.
  std::vector<std::string> texts() {
    timeline_.flush();
    std::vector<std::string> found;
    const std::string content = read(path(engine::kEventsFile));
    std::string_view rest = content;
    while (!rest.empty()) {
      const auto event = engine::read_event_line(base::take_line(rest));
      if (!event || event->event != "resources") continue;
      const std::size_t comma = std::min(event->text.find(','), event->text.size());
      const std::size_t age = event->text.rfind(' ', comma);
      found.push_back(event->text.substr(0, age) + event->text.substr(comma));
    }
    return found;
  }

  Job job_;
  engine::Timeline timeline_;
};

TEST_F(ResourceRecord, HasTheFirstSampleAtOnce) {
  take({.at_ms = 1000,
        .memory_bytes = 90 * kKiB,
        .limit_bytes = 100 * kKiB,
        .ranks = {{0, 40 * kKiB, 700}, {1, 50 * kKiB, 900}}});
  EXPECT_THAT(texts(), ElementsAre("90 100, rank-0 40 -, rank-1 50 -"));
}

TEST_F(ResourceRecord, HasThePeakAndTheMeanOfTheSamplesSinceTheLastOne) {
  take({.at_ms = 1000, .memory_bytes = 9 * kKiB, .ranks = {{0, 4 * kKiB, 700}}});
  take({.at_ms = 2000, .memory_bytes = 99 * kKiB, .ranks = {{0, 44 * kKiB, 1700}}});
  take({.at_ms = 5000, .memory_bytes = 9 * kKiB, .ranks = {{0, 4 * kKiB, 6700}}});
  end();
  EXPECT_THAT(texts(), ElementsAre("9 -, rank-0 4 -", "99 -, rank-0 44 150"));
}

TEST_F(ResourceRecord, OfValuesThatAreNotKnownHasNoZero) {
  take({.at_ms = 1000, .ranks = {{0, -1, 500}}});
  take({.at_ms = 2000, .ranks = {{0, -1, 400}}});
  end();
  EXPECT_THAT(texts(), ElementsAre("- -, rank-0 - -", "- -, rank-0 - -"))
      << "a process with CPU time has exited";
}

TEST_F(ResourceRecord, OfTheNextStartBeginsAgain) {
  take({.at_ms = 1000, .memory_bytes = 9 * kKiB, .ranks = {{0, 4 * kKiB, 700}}});
  end();
  EXPECT_THAT(texts(), testing::SizeIs(1)) << "nothing is new at the end";
  take({.at_ms = 2000, .memory_bytes = 9 * kKiB, .ranks = {{1, 5 * kKiB, 900}, {7, 1, 1}}});
  end();
  EXPECT_THAT(texts(), ElementsAre("9 -, rank-0 4 -", "9 -, rank-1 5 -"));
}

TEST(ResourceMeter, MeasuresThisProcess) {
  const auto self = proc::find_member(::getpid());
  ASSERT_TRUE(self);
  engine::ResourceMeter meter({{5, ::getpid(), self->start}, {6, ::getpid(), self->start + 1}}, {});
  const ResourceSample sample = meter.measure();
  ASSERT_EQ(sample.ranks.size(), 1U) << "the other one is an earlier process with this pid";
  EXPECT_EQ(sample.ranks[0].process, 5U);
  EXPECT_GT(sample.ranks[0].memory_bytes, 1 << 20);
  EXPECT_GE(sample.ranks[0].cpu_ms, 0);
  EXPECT_GT(sample.at_ms, 0);
}

}  // namespace
