// The memory and the CPUs of ranks over time, in the timeline and the report of a job.

#include <gmock/gmock.h>

#include "init/report/chart.h"
#include "init/report/run_files.h"
#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMiB = 1 << 20;

// Prints steps until $HERE/done is there. Rank 1 keeps 64 MiB in a variable and waits; rank 0
// computes.
constexpr const char* kGrows =
    "echo step 1; [ $RANK = 1 ] && x=$(head -c 67108864 /dev/zero | tr '\\0' x); "
    "i=1; while [ ! -e $HERE/done ]; do i=$((i + 1)); echo \"step $i\"; "
    "if [ $RANK = 1 ]; then sleep 0.02; else n=0; while [ $n -lt 9999 ]; do n=$((n + 1)); done; "
    "fi; done";

class RankResources : public rules::LifecycleTest {
 protected:
  [[nodiscard]] report::Resources recorded() const {
    const auto runs = report::read_runs(path("run"));
    return runs && !runs->empty() ? report::chart_of(runs->at(0)).resources : report::Resources();
  }
  [[nodiscard]] static std::int64_t peak_of(const report::Resources& resources,
                                            const std::string& name,
                                            std::vector<report::UsePoints> report::RankUse::* of) {
    for (const report::RankUse& rank : resources.ranks) {
      if (rank.name == name) return report::peak_of(rank.*of);
    }
    return -1;
  }
};
RULES_EITHER_WAY(RankResources);

TEST_P(RankResources, AreInTheTimelineAndTheReport) {
  Instance instance(two_ranks({"--progress", "step {step}"}, shell(kGrows)));
  const auto grown = [this] {
    const report::Resources now = recorded();
    return peak_of(now, "rank-1", &report::RankUse::memory_bytes) >= 64 * kMiB &&
           peak_of(now, "rank-0", &report::RankUse::cpu_hundredths) > 0;
  };
  while (!grown()) {
    ASSERT_TRUE(instance.alive()) << instance.err();
    ASSERT_TRUE(instance.await_more());
  }
  const report::Resources now = recorded();
  EXPECT_LT(peak_of(now, "rank-0", &report::RankUse::memory_bytes), 32 * kMiB);
  EXPECT_GT(peak_of(now, "rank-0", &report::RankUse::memory_bytes), 0);
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(tool({"report", path("run")}).out,
              AllOf(HasSubstr("  peak memory "), HasSubstr("  peak memory: rank-0 ")));
  EXPECT_THAT(tool({"report", path("run"), "--format", "html"}).out,
              AllOf(HasSubstr("<h2>Memory</h2>"), HasSubstr("<h2>CPUs in use</h2>")));
}

TEST_P(RankResources, OfAJobWithoutAWatchAreNotMeasured) {
  Instance instance(two_ranks({}, shell("sleep 0.1")));
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(read(path("run/events.jsonl")),
              AllOf(HasSubstr("\"exit\""), Not(HasSubstr("\"resources\""))));
}

}  // namespace
