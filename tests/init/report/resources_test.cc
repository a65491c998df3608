// The memory and the CPUs of ranks over time, from events to pictures.

#include "init/report/resources.h"

#include <gmock/gmock.h>

#include "init/report/html.h"
#include "init/report/resources_svg.h"
#include "init/report/summary.h"
#include "init/report/text.h"
#include "init/report/trace.h"
#include "tests/init/report/trace_check.h"

namespace report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kBegin = 1'700'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;

engine::TimelineEvent used(std::int64_t after_ms, std::string text) {
  return {.at_ms = kBegin + after_ms, .event = "resources", .text = std::move(text)};
}

engine::TimelineEvent started(std::int64_t after_ms, const char* task) {
  return {.at_ms = kBegin + after_ms, .event = "start", .task = task, .kind = "main"};
}

// Two ranks; the container comes near its limit of 64 MiB, and rank 1 is killed.
NodeRun grew() {
  NodeRun run;
  run.events = {{.at_ms = kBegin, .event = "begin"},
                started(0, "rank-0"),
                started(0, "rank-1"),
                used(1000, "20480 65536 0, rank-0 8192 -, rank-1 9216 -"),
                used(2000, "40960 65536 0, rank-0 9216 150, rank-1 30720 100"),
                used(5000, "63488 65536 1000, rank-0 9216 200, rank-1 52224 90"),
                {.at_ms = kBegin + 5000,
                 .event = "first_failure",
                 .task = "rank-1",
                 .text = "rank-1 was killed by SIGKILL"},
                started(8000, "rank-0"),
                started(8000, "rank-1"),
                used(9000, "20480 65536 0, rank-0 8192 -, rank-1 9216 -"),
                {.at_ms = kBegin + 10'000, .event = "exit", .exit_code = 0}};
  run.state = engine::JobReport{};
  run.state->state = "success";
  run.state->tasks.resize(1);
  run.state->tasks[0].name = "rank-1";
  return run;
}

std::vector<std::int64_t> values_of(const UsePoints& points) {
  std::vector<std::int64_t> values;
  for (const UsePoint& point : points) values.push_back(point.value);
  return values;
}

TEST(Resources, HaveTheValuesOfEachRankAndStart) {
  const Resources resources = resources_of(grew().events);
  ASSERT_THAT(resources.ranks, SizeIs(2));
  EXPECT_EQ(resources.ranks[1].name, "rank-1");
  ASSERT_THAT(resources.ranks[1].memory_bytes, SizeIs(2));
  EXPECT_THAT(values_of(resources.ranks[1].memory_bytes[0]),
              ElementsAre(9 * kMiB, 30 * kMiB, 51 * kMiB));
  EXPECT_THAT(values_of(resources.ranks[1].memory_bytes[1]), ElementsAre(9 * kMiB));
  EXPECT_THAT(values_of(resources.ranks[0].cpu_hundredths[0]), ElementsAre(150, 200));
  EXPECT_THAT(resources.ranks[0].cpu_hundredths[1], IsEmpty());
  EXPECT_EQ(resources.limit_bytes, 64 * kMiB);
  EXPECT_EQ(peak_of(resources.container_bytes), 62 * kMiB);
  EXPECT_EQ(resources.container_bytes[2].at_ms, kBegin + 4000) << "the values were a second old";
}

TEST(Resources, ThatAreNotKnownAreNotZero) {
  const Resources resources = resources_of({used(0, "- - 0, rank-0 - -")});
  EXPECT_THAT(resources.container_bytes, IsEmpty());
  EXPECT_EQ(resources.limit_bytes, -1);
  ASSERT_THAT(resources.ranks, SizeIs(1));
  EXPECT_EQ(peak_of(resources.ranks[0].memory_bytes), -1);
}

TEST(Resources, OfDamagedEventsAreEmpty) {
  for (const char* text : {"", ",", "1", "1 2", "x 2 0, rank-0 1 1", "-5 2 0, rank-0 1 1",
                           "99999999999999 1 0, rank-0 1 1", "1 2 3 4, rank-0 1 1"}) {
    const Resources resources = resources_of({used(0, text)});
    EXPECT_THAT(resources.ranks, IsEmpty()) << text;
    EXPECT_THAT(resources.container_bytes, IsEmpty()) << text;
  }
  for (const char* text : {"rank-0", "rank-0 1", "rank-0 x 1", "rank-0 1 99999999999", ""}) {
    EXPECT_THAT(resources_of({used(0, "1 2 0, " + std::string(text))}).ranks, IsEmpty()) << text;
  }
}

TEST(Thinned, KeepsThePeaks) {
  UsePoints points;
  for (int i = 0; i < 1000; ++i) points.push_back({i, i == 501 ? 99 : i % 7});
  const UsePoints few = thinned(points, 10);
  EXPECT_THAT(few, SizeIs(10));
  EXPECT_EQ(peak_of(few), 99);
  EXPECT_TRUE(std::ranges::is_sorted(few, {}, &UsePoint::at_ms));
  EXPECT_THAT(thinned(points, 1000), SizeIs(1000));
  EXPECT_THAT(thinned(points, 0), SizeIs(1));
  EXPECT_THAT(thinned({}, 10), IsEmpty());
}

TEST(MemoryPicture, HasEachRankTheContainerItsLimitAndTheFailure) {
  const std::vector<NodeRun> runs{grew()};
  const std::string svg = memory_svg_of(summary_of(runs));
  EXPECT_THAT(svg, AllOf(HasSubstr("rank-0: at most 9.0 MiB"), HasSubstr("rank-1: at most 51.0"),
                         HasSubstr("container: at most 62.0 MiB"),
                         HasSubstr("memory limit of the container: 64.0 MiB"),
                         HasSubstr("killed by SIGKILL"), HasSubstr(">16.0 MiB</text>")));
}

TEST(MemoryPicture, LeavesOutALimitFarAbove) {
  NodeRun run;
  run.events = {used(0, "1024 1048576 0, rank-0 512 -"), used(1000, "1024 1048576 0")};
  const std::vector<NodeRun> runs{run};
  EXPECT_THAT(memory_svg_of(summary_of(runs)),
              AllOf(HasSubstr("container: at most 1.0 MiB"), Not(HasSubstr("memory limit"))));
}

TEST(CpuPicture, HasEachRank) {
  const std::vector<NodeRun> runs{grew()};
  EXPECT_THAT(cpu_svg_of(summary_of(runs)),
              AllOf(HasSubstr("rank-0: at most 2<"), HasSubstr("rank-1: at most 1<"),
                    HasSubstr(">0.5</text>")));
}

TEST(ResourcePictures, OfAJobWithoutValuesAreNone) {
  EXPECT_EQ(memory_svg_of(summary_of({})), "");
  EXPECT_EQ(cpu_svg_of(summary_of({})), "");
  EXPECT_THAT(html_of(summary_of({})), Not(HasSubstr("<h2>Memory</h2>")));
}

TEST(ResourcePictures, OfManyRanksShowTheHighest) {
  NodeRun run;
  for (int second = 0; second < 1000; ++second) {
    std::string text = "1048576 - 0";
    for (int rank = 0; rank < 200; ++rank) {
      text += ", rank-" + std::to_string(rank) + " " + std::to_string(1024 * (rank + 1)) + " 100";
    }
    run.events.push_back(used(1000 * second, text));
  }
  const std::vector<NodeRun> runs{run};
  const std::string svg = memory_svg_of(summary_of(runs));
  EXPECT_THAT(svg,
              AllOf(HasSubstr("rank-199:"), HasSubstr("rank-136:"), Not(HasSubstr("rank-135:"))));
  EXPECT_LT(svg.size(), 300U << 10);
}

TEST(PeakMemory, IsInTheFactsTheTextAndTheTable) {
  const std::vector<NodeRun> one{grew()};
  EXPECT_THAT(text_of(summary_of(one)),
              AllOf(HasSubstr("rank-1 51.0 MiB, container 62.0 MiB of 64.0 MiB"),
                    HasSubstr("  peak memory: rank-0 9.0 MiB, rank-1 51.0 MiB\n")));
  EXPECT_THAT(html_of(summary_of(one)),
              AllOf(HasSubstr("<td>51.0 MiB</td>"), HasSubstr("<h2>Memory</h2>"),
                    HasSubstr("<h2>CPUs in use</h2>")));
  // The second container is further from its limit.
  std::vector<NodeRun> two{grew(), grew()};
  two[1].events[1].node = 1;
  two[1].events.resize(6);
  two[1].events[5].text = "65536 1048576 0, rank-2 53248 -";
  EXPECT_THAT(text_of(summary_of(two)),
              HasSubstr("rank-2 (node 1) 52.0 MiB, container (node 0) 62.0 MiB of 64.0 MiB"));
}

TEST(Trace, HasCountersOfMemoryAndCpus) {
  const std::vector<NodeRun> runs{grew()};
  const auto items = trace::items_of(trace_of({chart_of(runs[0])}));
  const trace::Item* memory = trace::find(items, "C", "memory of rank-1");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->args.at("MiB"), "9");
  EXPECT_EQ(memory->start_us, (kBegin + 1000) * 1000);
  EXPECT_EQ(trace::find(items, "C", "CPU of rank-0")->args.at("percent"), "150");
  EXPECT_EQ(trace::find(items, "C", "memory of the container")->args.at("MiB"), "20");
  EXPECT_EQ(trace::find(items, "i", "resources"), nullptr);
}

}  // namespace
}  // namespace report
