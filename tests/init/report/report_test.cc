// The forms of a report, and the files that it is made of.

#include <gmock/gmock.h>
#include <unistd.h>

#include "init/report/html.h"
#include "init/report/markup.h"
#include "init/report/run_files.h"
#include "init/report/text.h"
#include "init/report/trace.h"
#include "tests/init/child.h"

namespace report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

NodeRun node(int rank, std::int64_t begin_ms) {
  NodeRun run;
  run.events = {
      {.at_ms = begin_ms, .event = "begin"},
      {.at_ms = begin_ms, .event = "host", .node = rank, .text = "pod-" + std::to_string(rank)},
      {.at_ms = begin_ms + 10, .event = "phase", .text = "running"},
      {.at_ms = begin_ms + 5000, .event = "first_failure", .text = "rank-3 <failed>"},
      {.at_ms = begin_ms + 9000, .event = "health", .text = "disk is full"},
      {.at_ms = begin_ms + 10'000, .event = "exit", .exit_code = 3}};
  if (rank == 1) {
    run.events.insert(
        run.events.begin() + 4,
        {.at_ms = begin_ms + 5001, .event = "failure_cause", .text = "ValueError: a & b"});
    run.events.insert(run.events.begin() + 4, {.at_ms = begin_ms + 5001,
                                               .event = "failure_output",
                                               .text = "Traceback\nValueError: a & b"});
  }
  run.state = engine::JobReport{};
  run.state->state = "error";
  run.state->exit_code = 3;
  run.state->node_count = 2;
  run.plan = "platform <local>";
  return run;
}

std::vector<NodeRun> two_nodes() {
  return {node(1, 1'700'000'000'000), node(0, 1'700'000'000'500)};
}

TEST(Summary, TellsAFailureOnceThatAllNodesTell) {
  const std::vector<NodeRun> runs = two_nodes();
  const Summary summary = summary_of(runs);
  ASSERT_THAT(summary.failures, SizeIs(1));
  EXPECT_EQ(summary.failures[0].nodes, "node 0 (pod-0), node 1 (pod-1)");
  EXPECT_EQ(summary.failures[0].cause, "ValueError: a & b");
  EXPECT_THAT(summary.failures[0].lines, testing::ElementsAre("Traceback", "ValueError: a & b"));
  EXPECT_EQ(summary.outcome, "failed");
  EXPECT_THAT(summary.findings, SizeIs(2));
}

TEST(Summary, OfARestartTellsBothFailures) {
  NodeRun run = node(0, 1'700'000'000'000);
  run.events.push_back({.at_ms = 1'700'000'010'500, .event = "phase", .text = "preparing"});
  run.events.push_back(
      {.at_ms = 1'700'000'011'000, .event = "first_failure", .text = "rank-3 <failed>"});
  const std::vector<NodeRun> runs{run};
  EXPECT_THAT(summary_of(runs).failures, SizeIs(2));
}

TEST(Summary, OfOneStartTellsTheLastThatWasHeldForTheFirst) {
  NodeRun run = node(0, 1'700'000'000'000);
  run.events.push_back(
      {.at_ms = 1'700'000'011'000, .event = "first_failure", .text = "rank-1 (node 1) failed"});
  const std::vector<NodeRun> runs{run};
  const Summary summary = summary_of(runs);
  ASSERT_THAT(summary.failures, SizeIs(1));
  EXPECT_EQ(summary.failures[0].message, "rank-1 (node 1) failed");
}

// Nothing takes the time of the square of their number.
TEST(Summary, OfMoreThanAnybodyReadsIsBounded) {
  NodeRun run = node(0, 1'700'000'000'000);
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) {
    const std::int64_t at_ms = 1'700'000'020'000 + i * 70'000LL;
    const std::string task = "task-" + std::to_string(i);
    run.events.push_back({.at_ms = at_ms, .event = "start", .task = task, .kind = "main"});
    run.events.push_back({.at_ms = at_ms + 1, .event = "first_failure", .text = task});
    run.events.push_back({.at_ms = at_ms + 2, .event = "stall", .text = task});
  }
  const std::vector<NodeRun> runs{run};
  const Summary summary = summary_of(runs);
  ASSERT_THAT(summary.failures, SizeIs(200));
  EXPECT_EQ(summary.failures.front().message, "rank-3 <failed>");
  EXPECT_EQ(summary.failures.back().message, "task-19999");
  EXPECT_LT(summary.findings.size(), 1010U);
  EXPECT_THAT(text_of(summary), AllOf(HasSubstr("19801 more failures are not shown"),
                                      HasSubstr("19001 more findings are not shown")));
  constexpr std::size_t kMaxBytes = 4U << 20;
  EXPECT_LT(html_of(summary).size(), kMaxBytes);
  EXPECT_GT(trace_of({summary.nodes[0].chart}).size(), std::size_t{kMany});
}

TEST(Summary, SaysHowFarTheRanksWere) {
  std::vector<NodeRun> runs = two_nodes();
  for (NodeRun& run : runs) {
    run.state->tasks.resize(1);
    run.state->tasks[0].name = &run == runs.data() ? "rank-1" : "rank-0";
    run.state->tasks[0].step = &run == runs.data() ? 7 : 9;
  }
  EXPECT_THAT(
      text_of(summary_of(runs)),
      AllOf(HasSubstr("progress "), HasSubstr("median step 9, slowest rank-1 at 7, 2 behind"),
            HasSubstr("  steps: rank-0 9\n"), HasSubstr("  steps: rank-1 7\n")));
  EXPECT_THAT(html_of(summary_of(runs)), HasSubstr("median step 9"));
}

TEST(Percents, AddUpToAHundred) {
  const auto texts = percent_texts({1, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(texts[0], "33.3 %");
  EXPECT_EQ(texts[1], "33.4 %");
  EXPECT_EQ(texts[2], "33.3 %");
  EXPECT_EQ(percent_texts({})[0], "0.0 %");
}

TEST(Times, AreUtc) {
  EXPECT_EQ(utc_text(1'700'000'000'042), "2023-11-14 22:13:20.042 UTC");
  EXPECT_EQ(duration_text(1234), "1.23 s");
  EXPECT_EQ(duration_text(250'000), "4m 10s");
}

TEST(Text, HasTheFailureItsLinesAndTheShares) {
  const std::vector<NodeRun> runs = two_nodes();
  const std::string text = text_of(summary_of(runs));
  EXPECT_THAT(text, AllOf(HasSubstr("The job failed.\n"), HasSubstr("  rank-3 <failed>\n"),
                          HasSubstr("    ValueError: a & b\n"), HasSubstr("all nodes"),
                          HasSubstr("disk is full")));
  EXPECT_LT(text.find("node 0 (pod-0): exit code 3"), text.find("node 1 (pod-1): exit code 3"));
}

TEST(Html, IsWellFormedAndNeedsNoNetwork) {
  const std::vector<NodeRun> runs = two_nodes();
  const std::string html = html_of(summary_of(runs));
  EXPECT_THAT(html, AllOf(HasSubstr("rank-3 &lt;failed&gt;"), HasSubstr("ValueError: a &amp; b"),
                          HasSubstr("platform &lt;local&gt;"), HasSubstr("<svg ")));
  EXPECT_THAT(html,
              AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("<script"))));
}

TEST(Markup, HasNothingThatABrowserWouldObey) {
  EXPECT_EQ(escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;'");
  EXPECT_EQ(escaped("a\x1b[31m\nb\xff"), "a?[31m\nb\xEF\xBF\xBD");
}

// --- Files ---

class RunFiles : public child::Scratch {
 protected:
  void write_events(const std::string& name, int node) {
    write(name, engine::event_line({.at_ms = 5, .event = "begin"}) +
                    engine::event_line({.at_ms = 6, .event = "host", .node = node}));
  }
};

TEST_F(RunFiles, OfSeveralNodesAreOneEach) {
  write_events("events-node0.jsonl", 0);
  write_events("events-node1.jsonl", 1);
  engine::JobReport state;
  state.phase = "exited";
  write("state-node1.json", engine::state_to_json(state));
  write("state-node0.json", "{}");
  write("plan-node0.txt", "the plan");
  const auto runs = read_runs(path("."));
  ASSERT_TRUE(runs);
  ASSERT_THAT(*runs, SizeIs(2));
  EXPECT_EQ(runs->at(0).plan, "the plan");
  EXPECT_FALSE(runs->at(0).state);
  EXPECT_THAT(runs->at(0).problems, testing::ElementsAre(HasSubstr("state-node0.json")));
  ASSERT_TRUE(runs->at(1).state);
  EXPECT_EQ(runs->at(1).state->phase, "exited");
}

TEST_F(RunFiles, WithATornLineAreReadAndItIsSaid) {
  write("events.jsonl", engine::event_line({.at_ms = 5, .event = "begin"}) + "{\"ts_ms\":7,\"ev");
  const auto runs = read_runs(path("."));
  ASSERT_TRUE(runs);
  EXPECT_THAT(text_of(summary_of(*runs)), HasSubstr("1 lines of its timeline cannot be read"));
}

TEST_F(RunFiles, HaveTheLastLinesOfRanksAlsoWhereTheyWereMoved) {
  write_events("events.jsonl", 0);
  write("rank-1.log", "one\ntwo\n");
  write("secret", "TOP");
  engine::JobReport state;
  state.tasks.resize(2);
  for (engine::TaskReport& task : state.tasks) task.kind = "main";
  state.tasks[0].log = "/somewhere/else/rank-1.log";
  state.tasks[1].log = path("secret");
  write("state.json", engine::state_to_json(state));
  const auto runs = read_runs(path("."));
  ASSERT_TRUE(runs);
  ASSERT_THAT(runs->at(0).outputs, SizeIs(1));
  EXPECT_EQ(runs->at(0).outputs[0].text, "one\ntwo");
}

TEST_F(RunFiles, AreNoLinksToOthers) {
  write_events("events.jsonl", 0);
  write("secret", "TOP");
  ASSERT_EQ(::symlink(path("secret").c_str(), path("plan.txt").c_str()), 0);
  const auto runs = read_runs(path("."));
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->at(0).plan, "");
}

TEST_F(RunFiles, OfTimesThatAreNoneAreDamaged) {
  write("events.jsonl",
        engine::event_line({.at_ms = 5, .event = "begin"}) +
            engine::event_line({.at_ms = INT64_MAX, .event = "phase"}) +
            engine::event_line({.at_ms = -1, .event = "phase"}) +
            engine::event_line({.at_ms = 9, .event = "end", .since_ms = INT64_MAX}));
  const auto runs = read_runs(path("."));
  ASSERT_TRUE(runs);
  EXPECT_THAT(runs->at(0).events, SizeIs(1));
  EXPECT_THAT(runs->at(0).problems, testing::ElementsAre(HasSubstr("3 lines")));
}

TEST_F(RunFiles, ThatAreNotThereAreAnError) {
  const auto runs = read_runs(path("nowhere"));
  ASSERT_FALSE(runs);
  EXPECT_THAT(to_line(runs.error()), AllOf(HasSubstr("nowhere"), HasSubstr("--timeline")));
  EXPECT_FALSE(read_runs(path(".")));
}

}  // namespace
}  // namespace report
