#include "init/report/chart.h"

#include <gmock/gmock.h>

#include "init/report/time_shares.h"
#include "init/report/trace.h"
#include "tests/init/report/trace_check.h"

namespace report {
namespace {

using engine::TimelineEvent;
using testing::ElementsAre;

TimelineEvent task(std::int64_t at_ms, const char* event, const char* name, const char* kind) {
  return {.at_ms = at_ms, .event = event, .task = name, .kind = kind, .incarnation = 1};
}

TimelineEvent task_end(std::int64_t since_ms, std::int64_t at_ms, const char* name,
                       const char* kind, int exit_code) {
  TimelineEvent event = task(at_ms, "end", name, kind);
  event.since_ms = since_ms;
  event.exit_code = exit_code;
  return event;
}

TimelineEvent phase(std::int64_t at_ms, const char* name) {
  return {.at_ms = at_ms, .event = "phase", .text = name};
}

// One restart; everything that a share is for but data.
NodeRun restarted() {
  NodeRun run;
  run.events = {{.at_ms = 1000, .event = "begin"},
                {.at_ms = 1100, .event = "wait", .text = "the rank table"},
                {.at_ms = 1300, .event = "wait_over"},
                {.at_ms = 1300, .event = "host", .node = 2, .text = "pod-2"},
                task(1300, "start", "pre-start hooks", "pre-start"),
                task_end(1300, 1400, "pre-start hooks", "pre-start", 0),
                phase(1450, "starting"),
                task(1450, "start", "rank-0", "main"),
                phase(1500, "running"),
                task_end(1450, 2500, "rank-0", "main", 3),
                phase(2500, "stopping"),
                {.at_ms = 2600, .event = "first_failure", .task = "rank-0", .text = "rank-0 ..."},
                {.at_ms = 2650, .event = "failure_output", .text = "a\nb"},
                phase(2700, "auto-restart"),
                phase(2800, "preparing"),
                phase(2900, "starting"),
                task(2900, "start", "rank-0", "main"),
                phase(3000, "running"),
                {.at_ms = 3500, .event = "signal_received", .signal = "SIGTERM"},
                phase(3500, "stopping"),
                {.at_ms = 4000, .event = "exit", .exit_code = 143}};
  return run;
}

TEST(ChartOf, ARunHasItsNodeItsTimesAndPhasesBeforeWaitsBeforeTasks) {
  const Chart chart = chart_of(restarted());
  EXPECT_EQ(node_text(chart), "node 2 (pod-2)");
  EXPECT_EQ(chart.begin_ms, 1000);
  EXPECT_EQ(chart.end_ms, 4000);
  EXPECT_THAT(chart.lanes, ElementsAre("phases", "waits", "pre-start hooks", "rank-0"));
}

TEST(ChartOf, ATaskThatHasNotEndedLastsUntilTheLastEvent) {
  const Chart chart = chart_of(restarted());
  const Span& last = chart.spans.back();
  EXPECT_EQ(last.lane, "rank-0");
  EXPECT_FALSE(last.ended);
  EXPECT_EQ(last.start_ms, 2900);
  EXPECT_EQ(last.end_ms, 4000);
}

TEST(ChartOf, AFailureOfAnotherNodesTaskMakesNoLane) {
  NodeRun run = restarted();
  run.events.push_back({.at_ms = 4100, .event = "first_failure", .task = "rank-9"});
  EXPECT_THAT(chart_of(run).lanes, testing::Not(testing::Contains("rank-9")));
}

TEST(ChartOf, NothingIsEmpty) {
  EXPECT_TRUE(chart_of({}).spans.empty());
  EXPECT_EQ(time_shares_of(chart_of({})), TimeShares{});
}

TEST(Shares, AddUpToTheWhole) {
  const TimeShares shares = time_shares_of(chart_of(restarted()));
  auto of = [&shares](TimeShare share) { return shares[static_cast<std::size_t>(share)]; };
  EXPECT_EQ(of(TimeShare::kWaiting), 200);
  EXPECT_EQ(of(TimeShare::kHooks), 100);
  EXPECT_EQ(of(TimeShare::kRunning), 1000 + 500);
  EXPECT_EQ(of(TimeShare::kLost), 500) << "from the stop to the next run";
  EXPECT_EQ(of(TimeShare::kStopping), 500);
  EXPECT_EQ(of(TimeShare::kStarting), 3000 - 200 - 100 - 1500 - 500 - 500);
}

TEST(Shares, OfAClockThatWasSetBackAddUpToo) {
  NodeRun run = restarted();
  run.events[10].at_ms = 100;
  run.events[17].at_ms = 90'000;
  const Chart chart = chart_of(run);
  const TimeShares shares = time_shares_of(chart);
  std::int64_t sum = 0;
  for (const std::int64_t ms : shares) {
    EXPECT_GE(ms, 0);
    sum += ms;
  }
  EXPECT_EQ(sum, chart.end_ms - chart.begin_ms);
}

TEST(Trace, LoadsWithEachSpanAndMoment) {
  const auto items = trace::items_of(trace_of({chart_of(restarted())}));
  const trace::Item* failed = trace::find(items, "X", "rank-0");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->start_us, 1'450'000);
  EXPECT_EQ(failed->duration_us, 1'050'000);
  EXPECT_EQ(failed->args.at("exit_code"), "3");
  EXPECT_EQ(failed->pid, 2);
  EXPECT_EQ(trace::find(items, "X", "wait")->args.at("text"), "the rank table");
  EXPECT_NE(trace::find(items, "i", "first failure"), nullptr);
  EXPECT_EQ(trace::find(items, "i", "SIGTERM")->args.at("text"), "signal_received");
  EXPECT_EQ(trace::find(items, "M", "process_name")->args.at("name"), "node 2 pod-2");
}

}  // namespace
}  // namespace report
