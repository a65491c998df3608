#include "init/engine/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

#include "init/engine/state/status_text.h"

namespace {

using engine::JobReport;
using engine::TaskReport;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNowMs = 1'795'160'059'500;

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
  report.hook = "on-failure";
  report.restarts = 1;
  report.most_restarts = 3;
  report.restart_at_ms = 1'795'160'061'000;
  report.expires_ms = 1'795'246'400'000;
  report.checkpoint_under_way = true;
  report.checkpoint_until_ms = 1'795'160'300'000;
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
  JobReport report = example();
  report.reschedule = true;
  const JobReport read = round_trip(report);
  EXPECT_EQ(engine::state_to_json(read), engine::state_to_json(report));
  EXPECT_EQ(read.first_failure, report.first_failure);
  EXPECT_EQ(read.started_ms, report.started_ms);
  EXPECT_EQ(read.hold_until_ms, report.hold_until_ms);
  EXPECT_EQ(read.warnings, report.warnings);
  EXPECT_EQ(read.hook, "on-failure");
  EXPECT_EQ(read.restarts, 1);
  EXPECT_EQ(read.most_restarts, 3);
  EXPECT_EQ(read.restart_at_ms, report.restart_at_ms);
  EXPECT_EQ(read.expires_ms, report.expires_ms);
  EXPECT_TRUE(read.checkpoint_under_way);
  EXPECT_EQ(read.checkpoint_until_ms, report.checkpoint_until_ms);
  EXPECT_TRUE(read.reschedule);
  ASSERT_EQ(read.tasks.size(), 3U);
  EXPECT_EQ(read.tasks[1].signal, "SIGKILL");
  EXPECT_EQ(read.tasks[1].exit_code, 137);
  EXPECT_EQ(read.tasks[2].pid, 77);
  EXPECT_EQ(read.tasks[2].exit_code, -1);
  EXPECT_EQ(read.tasks[2].log, "/logs/rank-9.txt");
}

engine::DataReport copying() {
  engine::DataReport data;
  data.name = "imagenet";
  data.variable = "TRAINIT_DATASET_IMAGENET";
  data.source = "/mnt/imagenet";
  data.state = "copying";
  data.entries = 22'500;
  data.bytes = 180LL << 20;
  data.total_entries = 50'000;
  data.total_bytes = 400LL << 20;
  data.bytes_per_second = 31LL << 20;
  data.began_ms = kNowMs - 5800;
  return data;
}

TEST(State, HoldsEachDataset) {
  JobReport report = example();
  engine::DataReport waiting = copying();
  waiting.waiting = true;
  waiting.how = "copied";
  waiting.path = "/cache/a\nb";
  waiting.ended_ms = kNowMs;
  report.data = {copying(), waiting};
  EXPECT_EQ(round_trip(report).data, report.data);
}

TEST(StateText, ShowsHowFarEachDatasetIs) {
  JobReport report = example();
  engine::DataReport waiting = copying();
  waiting.waiting = true;
  engine::DataReport ready = copying();
  ready.state = "ready";
  ready.how = "found";
  ready.path = "/cache/a\033b";
  engine::DataReport failed = copying();
  failed.state = "failed";
  failed.how = "no space";
  report.data = {copying(), waiting, ready, failed};
  failed.path = failed.source;
  report.data.push_back(failed);
  EXPECT_THAT(
      state_to_text(report, kNowMs, {}),
      AllOf(HasSubstr("\ndata imagenet: copying: 45%, 22500 of 50000 entries, 180.0 MiB of "
                      "400.0 MiB, 31.0 MiB/s\n"),
            HasSubstr("\ndata imagenet: waiting for another copy, copying: 45%"),
            HasSubstr("\ndata imagenet: found, 22500 entries, 180.0 MiB, at /cache/a\\x1bb\n"),
            HasSubstr("\ndata imagenet: no space\n"),
            HasSubstr("\ndata imagenet: not copied, the job reads /mnt/imagenet: no "
                      "space\n")));
}

TEST(State, SaysNullForWhatIsNotKnown) {
  const std::string json = engine::state_to_json({});
  for (const char* name : {"started_ms", "exit_code", "hold_until_ms", "expires_ms",
                           "restart_at_ms", "checkpoint_until_ms"}) {
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
      R"({"version": 1, "pid": "x", "tasks": 3, "warnings": {"a": 1}, "exit_code": null,
          "restarts": [], "expires_ms": "soon", "checkpoint_under_way": 1, "hook": {}})",
      "s");
  ASSERT_TRUE(read) << to_line(read.error());
  EXPECT_EQ(read->pid, 0);
  EXPECT_TRUE(read->tasks.empty());
  EXPECT_EQ(read->exit_code, -1);
  EXPECT_EQ(read->restarts, 0);
  EXPECT_EQ(read->expires_ms, 0);
  EXPECT_FALSE(read->checkpoint_under_way);
  EXPECT_EQ(read->hook, "");
}

TEST(Span, IsItsTwoLargestUnits) {
  constexpr std::int64_t kHour = 3'600'000;
  EXPECT_EQ(engine::span_text(4 * kHour), "4h");
  EXPECT_EQ(engine::span_text(4 * kHour - 1), "3h 59m");
  EXPECT_EQ(engine::span_text(4 * kHour + 59'999), "4h");
  EXPECT_EQ(engine::span_text(51 * kHour), "2d 3h");
  EXPECT_EQ(engine::span_text(250'000), "4m 10s");
  EXPECT_EQ(engine::span_text(60'000), "1m");
  EXPECT_EQ(engine::span_text(12'999), "12s");
  for (const std::int64_t nothing : {std::int64_t{999}, std::int64_t{0}, INT64_MIN}) {
    EXPECT_EQ(engine::span_text(nothing), "0s");
    EXPECT_EQ(engine::until_text(std::min<std::int64_t>(nothing, 0)), "");
  }
  EXPECT_EQ(engine::span_text(INT64_MAX), "106751991167d 7h");
}

TEST(StateText, ShowsWhatAPersonAsksFor) {
  const std::string text = engine::state_to_text(example(), kNowMs);
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

// 24 rows are a terminal. The table may have more.
TEST(StateText, EndsWithTheStateTheCauseAndTheAdvice) {
  for (const int ranks : {1, 8, 64}) {
    JobReport report = example();
    report.hold_until_ms = 0;
    report.tasks.resize(1);
    for (int i = 0; i < ranks; ++i) {
      report.tasks.push_back(
          {.name = "rank-" + std::to_string(i), .kind = "main", .state = "ended"});
    }
    report.failure.at_ms = kNowMs;
    report.failure.cause =
        engine::FailureCause{.line = "ValueError: no such shard",
                             .role = "root",
                             .advice = "mend the script",
                             .traceback = {"Traceback", "ValueError: no such shard"}};
    report.failure.last_lines = {"step 1", "Traceback", "ValueError: no such shard"};
    const std::string text = engine::state_to_text(report, kNowMs);
    const std::size_t at = text.find("state error, phase");
    ASSERT_NE(at, std::string::npos);
    const std::string end = text.substr(at);
    EXPECT_LE(std::ranges::count(end, '\n'), 12);
    EXPECT_THAT(end, AllOf(HasSubstr("exit code 137\n"), HasSubstr("first failure: rank-8"),
                           HasSubstr("  the cause: ValueError: no such shard\n"
                                     "  what to do: mend the script\n")));
    EXPECT_THAT(end, testing::EndsWith("what to do: mend the script\n"));
    EXPECT_EQ(text.find("    Traceback"), text.rfind("    Traceback")) << "once";
  }
}

TEST(StateText, SaysOfAServiceThatItIsOne) {
  JobReport report = example();
  engine::TaskReport service;
  service.name = "sshd-of-the-node";
  service.kind = "service";
  service.state = "running";
  service.pid = 77;
  service.log = "/logs/sshd.log";
  report.tasks.push_back(service);
  EXPECT_THAT(
      engine::state_to_text(report, kNowMs),
      HasSubstr("  sshd-of-the-node -       77      running     /logs/sshd.log (service)\n"));
}

TEST(StateText, ShowsAWaitBeforeAnythingElseIsKnown) {
  JobReport report;
  report.state = "running";
  report.phase = "preparing";
  report.waiting_for = "/t.json: status is \"initializing\"";
  const std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, HasSubstr("waiting for /t.json: status is \"initializing\"\n"));
  report.waiting_since_ms = kNowMs - 80'000;
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              HasSubstr("waiting for /t.json: status is \"initializing\" (1m 20s)\n"));
  EXPECT_THAT(text, Not(HasSubstr("node 0")));
  EXPECT_THAT(text, Not(HasSubstr("task ")));
}

TEST(StateText, SaysHowLongIsLeftOfEachWindow) {
  JobReport report;
  report.state = "running";
  report.expires_ms = kNowMs + 7'260'000;
  report.checkpoint_under_way = true;
  report.checkpoint_until_ms = kNowMs + 250'000;
  std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, HasSubstr("time limit 2026-"));
  EXPECT_THAT(text, HasSubstr(", 2h 1m left (`trainit extend --for 2h` adds to it)\n"));
  EXPECT_THAT(text, HasSubstr("checkpoint under way, 4m 10s left\n"));
  report.hold_until_ms = kNowMs + 14'399'000;
  text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, HasSubstr("debug window until 2026-"));
  EXPECT_THAT(text, HasSubstr(", 3h 59m left; type\n  trainit hold --for 2h  keep it"));
  EXPECT_THAT(text, HasSubstr("\n  trainit release        end it"));
  EXPECT_THAT(text, Not(HasSubstr("trainit report"))) << "there is no timeline";
  report.failure.log = "/run/trainit/logs/rank-1.log";
  report.first_failure = "rank-1 exited with code 1";
  EXPECT_THAT(engine::state_to_text(report, kNowMs, {.timeline = true}),
              AllOf(HasSubstr("; type\n  tail -n 100 /run/trainit/logs/rank-1.log  what failed "),
                    HasSubstr("\n  trainit report ")));
  report.failure.node = 1;
  report.failure.host = "worker-b";
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              AllOf(HasSubstr("\n  what failed first printed on node 1 (worker-b): "
                              "/run/trainit/logs/rank-1.log\n"),
                    Not(HasSubstr("tail "))));
}

TEST(StateText, SaysNothingOfATimeThatIsOver) {
  JobReport report;
  report.expires_ms = kNowMs - 1;
  report.checkpoint_under_way = true;
  report.checkpoint_until_ms = kNowMs;
  report.hold_until_ms = 1;
  EXPECT_THAT(engine::state_to_text(report, kNowMs), Not(HasSubstr(" left")));
  report.expires_ms = kNowMs + 7'260'000;
  report.exit_code = 0;  // nothing runs into its limit any more
  EXPECT_THAT(engine::state_to_text(report, kNowMs), Not(HasSubstr("time limit")));
}

TEST(StateText, CountsTheRestarts) {
  JobReport report;
  report.state = "error";
  report.phase = "auto-restart";
  report.first_failure = "rank-0 exited with code 3";
  report.restarts = 1;
  report.counted_restarts = 2;  // the one that is awaited is among them
  report.most_restarts = 3;
  report.restart_at_ms = kNowMs + 8'000;
  std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, HasSubstr("restart 2 of 3 in 8s\nfirst failure: rank-0 exited with code 3\n"));

  report.state = "running";  // again
  report.phase = "running";
  report.restarts = 2;
  report.restart_at_ms = 0;
  text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(
      text,
      HasSubstr("restarted 2 times, at most 3\nbefore the restart: rank-0 exited with code 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("first failure")));

  report.restarts = 7;  // and a start between them ran for long
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              HasSubstr("restarted 7 times, 2 of at most 3 counted\n"));

  for (const auto& [name, start] : {std::pair("rank-0", "warm"), std::pair("rank-1", "warm"),
                                    std::pair("rank-2", "cold: A is another one")}) {
    engine::TaskReport& task = report.tasks.emplace_back();
    task.name = name;
    task.start = start;
    task.warm = "ready: pid 9, torch";
  }
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              HasSubstr("started rank-2: cold: A is another one\nstarted rank-0, rank-1: warm\n"
                        "stands by for rank-0, rank-1, rank-2: ready: pid 9, torch\n"));

  report.restarts = 1;  // because the list of nodes changed
  report.most_restarts = 0;
  EXPECT_THAT(engine::state_to_text(report, kNowMs), HasSubstr("restarted 1 time\n"));
}

TEST(StateText, NamesTheHooksThatAreUnderWay) {
  JobReport report;
  EXPECT_THAT(engine::state_to_text(report, kNowMs), Not(HasSubstr("under way")));
  report.hook = "pre-start hooks";
  TaskReport hooks;
  hooks.name = "pre-start hooks";
  hooks.kind = "pre-start";
  hooks.state = "running";
  hooks.pid = 12;
  hooks.log = engine::kHookOutput;
  TaskReport later = hooks;
  later.name = "post-stop hooks";
  later.kind = "post-stop";
  later.state = "idle";
  report.tasks = {hooks, later};
  const std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, testing::StartsWith("  task            device  pid     state       output\n"
                                        "  pre-start hooks -       12      running     stderr\n"));
  EXPECT_THAT(text, HasSubstr("\nunder way: pre-start hooks\n"));
  EXPECT_THAT(text, Not(HasSubstr("post-stop")));
}

TEST(StateText, KeepsItsColumnsBesideANameThatIsTooLong) {
  JobReport report = example();
  report.tasks[1].name = std::string(200, 'x');
  const std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(text, testing::StartsWith("  task        device "));
  EXPECT_THAT(text, HasSubstr("\n  rank-9      1       77 "));
}

TEST(StateText, SaysThatAJobIsToBeScheduledAgain) {
  JobReport report;
  report.state = "stopped";
  report.exit_code = 75;
  EXPECT_THAT(engine::state_to_text(report, kNowMs), HasSubstr("exit code 75\n"));
  report.reschedule = true;
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              HasSubstr("exit code 75: after a checkpoint, to be scheduled again\n"));
}

// The file is another process's.
TEST(StateText, StandsNumbersThatNobodyMeant) {
  for (const std::int64_t time : {INT64_MIN, INT64_MAX}) {
    JobReport report;
    report.restarts = INT_MAX;
    report.expires_ms = report.restart_at_ms = report.checkpoint_until_ms = report.hold_until_ms =
        time;
    report.checkpoint_under_way = true;
    EXPECT_THAT(engine::state_to_text(round_trip(report), kNowMs),
                HasSubstr(time < 0 ? "restart 2147483648\n" : "restart 2147483648 in "));
  }
}

TEST(StateText, ShowsTheLastLinesAndWhoWasTornDown) {
  JobReport report = example();
  report.failure.task = "rank-8";
  report.failure.torn_down = {"rank-9: SIGTERM", "rank-10: exit 0"};
  report.failure.last_lines = {"Traceback", "Memory\033[2JError"};
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              HasSubstr("\n  torn down because of it: rank-9: SIGTERM, rank-10: exit 0\n"
                        "  its last lines:\n    Traceback\n    Memory\\x1b[2JError\n"));
}

TEST(StateText, ShowsWhatIsKnownOfARanksOutputAndSpeed) {
  JobReport report = example();
  EXPECT_THAT(engine::state_to_text(report, kNowMs),
              AllOf(Not(HasSubstr("last output")), Not(HasSubstr("perf")), Not(HasSubstr("starts")),
                    Not(HasSubstr("health"))));
  report.tasks[2].last_output_ms = kNowMs - 65'000;
  report.tasks[2].perf_ppm = 663'512;
  report.tasks[2].step = 120;
  report.tasks[2].incarnation = 2;
  report.tasks[2].stalled_since_ms = kNowMs - 360'000;
  report.health = "npu-smi: ok";
  const std::string text = engine::state_to_text(report, kNowMs);
  EXPECT_THAT(
      text,
      HasSubstr("  task        device  pid     state       starts  step      perf    last output  "
                "output\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  rank-9      1       77      stalled 6m  2       120       66.3%   1m 5s ago  "
                "  /logs/rank-9.txt\n"));
  EXPECT_THAT(text, HasSubstr("health: npu-smi: ok\n"));
}

TEST(StateText, SetsTheSlowestRankAgainstTheMedian) {
  std::vector<engine::TaskReport> tasks(3);
  EXPECT_EQ(engine::steps_text(tasks), "");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].name = "rank-" + std::to_string(i);
    tasks[i].step = 120;
  }
  EXPECT_EQ(engine::steps_text(tasks), "median step 120");
  tasks[1].step = 100;
  tasks[2].step = 121;
  EXPECT_EQ(engine::steps_text(tasks), "median step 120, slowest rank-1 at 100, 20 behind");
  tasks.pop_back();
  EXPECT_EQ(engine::steps_text(tasks), "median step 120, slowest rank-1 at 100, 20 behind")
      << "of two";
  tasks[0].saved_step = 90;
  tasks[1].saved_step = 80;
  tasks.erase(tasks.begin());
  EXPECT_EQ(engine::steps_text(tasks), "step 100, saved at step 80");
  tasks[0].step = -1;
  EXPECT_EQ(engine::steps_text(tasks), "saved at step 80");
}

TEST(StateText, FitsItsTableIntoTheWindow) {
  JobReport report = example();
  report.tasks[2].log = "/logs/\xe2\x82\xac/" + std::string(300, 'x');
  const std::string text = engine::state_to_text(report, kNowMs, {.colour = false, .width = 52});
  EXPECT_THAT(text,
              HasSubstr("\n  rank-9      1       77      running     /logs/\xe2\x82\xac/x>\n"));
  const std::string bright = engine::state_to_text(report, kNowMs, {.colour = true, .width = 52});
  EXPECT_THAT(bright, HasSubstr("\033[32mrunning     \033[0m/logs/\xe2\x82\xac/x>\n"));
}

TEST(StateText, IsColouredOnlyOnRequest) {
  EXPECT_THAT(engine::state_to_text(example(), kNowMs), Not(HasSubstr("\033")));
  EXPECT_THAT(engine::state_to_text(example(), kNowMs, {.colour = true}),
              HasSubstr("\033[31merror\033[0m"));
}

// What a job writes goes to a terminal: no message may repaint it.
TEST(StateText, HasNoControlCharactersOfAMessage) {
  JobReport report = example();
  report.first_failure = "\033[2J bad";
  EXPECT_THAT(engine::state_to_text(report, kNowMs), Not(HasSubstr("\033")));
}

}  // namespace
