#include "init/engine/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using engine::JobReport;
using engine::TaskReport;
using testing::HasSubstr;
using testing::Not;

JobReport example() {
  JobReport report;
  report.pid = 1;
  report.phase = "hold";
  report.state = "error";
  report.platform = "modelarts";
  report.framework = "ascend";
  report.node_rank = 1;
  report.node_count = 2;
  report.world_size = 16;
  report.started_ms = 1'795'160'000'123;
  report.updated_ms = 1'795'160'060'000;
  report.waiting_for = "";
  report.tasks.resize(3);
  TaskReport& resolver = report.tasks[0];
  resolver.name = "resolver";
  resolver.kind = "resolve";
  resolver.state = "ended";
  resolver.exit_code = 0;
  TaskReport& dead = report.tasks[1];
  dead.name = "rank-8";
  dead.kind = "main";
  dead.state = "ended";
  dead.rank = 8;
  dead.device = 0;
  dead.exit_code = 137;
  dead.signal = "SIGKILL";
  dead.started_ms = 1'795'160'000'200;
  dead.ended_ms = 1'795'160'059'000;
  TaskReport& alive = report.tasks[2];
  alive.name = "rank-9";
  alive.kind = "main";
  alive.state = "running";
  alive.rank = 9;
  alive.device = 1;
  alive.pid = 77;
  alive.log = "/logs/rank-9.txt";
  report.first_failure = "rank-8 was killed by SIGKILL: \"out of memory\"\nsecond line";
  report.stop_signal = "SIGTERM";
  report.exit_code = 137;
  report.hold_until_ms = 1'795'167'260'000;
  report.warnings = {"one", "two\\"};
  return report;
}

JobReport round_trip(const JobReport& report) {
  auto read = engine::state_from_json(engine::state_to_json(report), "state.json");
  EXPECT_TRUE(read) << to_line(read.error());
  return read.value_or(JobReport{});
}

TEST(State, ComesBackAsItWasWritten) {
  const JobReport report = example();
  const JobReport read = round_trip(report);
  EXPECT_EQ(engine::state_to_json(read), engine::state_to_json(report));
  EXPECT_EQ(read.first_failure, report.first_failure);
  EXPECT_EQ(read.started_ms, report.started_ms);
  EXPECT_EQ(read.hold_until_ms, report.hold_until_ms);
  EXPECT_EQ(read.warnings, report.warnings);
  ASSERT_EQ(read.tasks.size(), 3U);
  EXPECT_EQ(read.tasks[1].signal, "SIGKILL");
  EXPECT_EQ(read.tasks[1].exit_code, 137);
  EXPECT_EQ(read.tasks[2].pid, 77);
  EXPECT_EQ(read.tasks[2].exit_code, -1);
  EXPECT_EQ(read.tasks[2].log, "/logs/rank-9.txt");
}

TEST(State, SaysNullForWhatIsNotKnown) {
  const std::string json = engine::state_to_json({});
  for (const char* name : {"started_ms", "exit_code", "hold_until_ms"}) {
    EXPECT_THAT(json, HasSubstr('"' + std::string(name) + "\": null")) << name;
  }
  const JobReport read = round_trip({});
  EXPECT_EQ(read.exit_code, -1);
  EXPECT_EQ(read.hold_until_ms, 0);
}

TEST(State, StaysJsonWhateverBytesAPathHolds) {
  JobReport report = example();
  report.tasks[1].log = "/logs/\xff\xfe\n\x01";
  EXPECT_THAT(round_trip(report).tasks[1].log, HasSubstr("/logs/"));
}

TEST(State, OfAnotherVersionOrNoStateIsAnErrorThatNamesTheFile) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"version": 2})", R"({"version": "1"})"}) {
    auto read = engine::state_from_json(text, "/run/x/state.json");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(to_line(read.error()), HasSubstr("/run/x/state.json")) << text;
  }
}

TEST(State, ReadsWhatHasOtherTypesAsUnknown) {
  auto read = engine::state_from_json(
      R"({"version": 1, "pid": "x", "tasks": 3, "warnings": {"a": 1}, "exit_code": null})", "s");
  ASSERT_TRUE(read) << to_line(read.error());
  EXPECT_EQ(read->pid, 0);
  EXPECT_TRUE(read->tasks.empty());
  EXPECT_EQ(read->exit_code, -1);
}

TEST(StateText, ShowsWhatAPersonAsksFor) {
  const std::string text = engine::state_to_text(example(), false);
  EXPECT_THAT(text,
              HasSubstr("state error, phase hold; modelarts/ascend, node 1 of 2, world size 16"));
  EXPECT_THAT(text, HasSubstr("stopped by SIGTERM\n"));
  EXPECT_THAT(text, HasSubstr("first failure: rank-8 was killed by SIGKILL"));
  EXPECT_THAT(text, HasSubstr("trainit release"));
  EXPECT_THAT(text, HasSubstr("exit code 137\n"));
  EXPECT_THAT(text, HasSubstr("rank-8"));
  EXPECT_THAT(text, HasSubstr("/logs/rank-9.txt\n"));
  EXPECT_THAT(text, HasSubstr("warning: one\n"));
  EXPECT_THAT(text, Not(HasSubstr("resolver")));
}

TEST(StateText, ShowsAWaitBeforeAnythingElseIsKnown) {
  JobReport report;
  report.state = "running";
  report.phase = "preparing";
  report.waiting_for = "/t.json: status is \"initializing\"";
  const std::string text = engine::state_to_text(report, false);
  EXPECT_THAT(text, HasSubstr("waiting for /t.json: status is \"initializing\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("node 0")));
  EXPECT_THAT(text, Not(HasSubstr("task ")));
}

TEST(StateText, IsColouredOnlyOnRequest) {
  EXPECT_THAT(engine::state_to_text(example(), false), Not(HasSubstr("\033")));
  EXPECT_THAT(engine::state_to_text(example(), true), HasSubstr("\033[31merror\033[0m"));
}

// What a job writes goes to a terminal: no message may repaint it.
TEST(StateText, HasNoControlCharactersOfAMessage) {
  JobReport report = example();
  report.first_failure = "\033[2J bad";
  EXPECT_THAT(engine::state_to_text(report, false), Not(HasSubstr("\033")));
}

}  // namespace
