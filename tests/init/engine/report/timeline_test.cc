#include "init/engine/report/timeline.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <sstream>

#include "init/report/run_files.h"
#include "init/report/trace.h"
#include "tests/init/engine/supervise.h"
#include "tests/init/report/trace_check.h"

namespace {

using engine::RecordFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// --- The forms ---

TEST(Event, IsALineOfWhatIsKnown) {
  EXPECT_EQ(engine::event_line({.at_ms = 12, .event = "begin"}),
            "{\"ts_ms\":12,\"event\":\"begin\"}\n");
  EXPECT_EQ(engine::event_line({.at_ms = 12,
                                .event = "end",
                                .node = 1,
                                .task = "rank-9",
                                .rank = 9,
                                .incarnation = 2,
                                .pid = 40,
                                .exit_code = 137,
                                .signal = "SIGKILL",
                                .text = "two\nlines"}),
            "{\"ts_ms\":12,\"event\":\"end\",\"node\":1,\"task\":\"rank-9\",\"rank\":9,"
            "\"incarnation\":2,\"pid\":40,\"exit_code\":137,\"signal\":\"SIGKILL\","
            "\"text\":\"two\\nlines\"}\n");
}

TEST(Event, ShowsNoCredentials) {
  EXPECT_THAT(engine::event_line({.event = "wait", .text = "HF_TOKEN=canary"}),
              Not(HasSubstr("canary")));
}

TEST(Event, IsReadAsItWasWritten) {
  const engine::TimelineEvent event{.at_ms = 12,
                                    .event = "end",
                                    .node = 0,
                                    .task = "rank-0",
                                    .kind = "main",
                                    .rank = 0,
                                    .incarnation = 1,
                                    .exit_code = 0,
                                    .since_ms = 3,
                                    .text = "two\nlines"};
  EXPECT_EQ(engine::read_event_line(engine::event_line(event)), event);
  const engine::TimelineEvent begin{.at_ms = 12, .event = "begin"};
  EXPECT_EQ(engine::read_event_line(engine::event_line(begin)), begin);
}

TEST(Event, ThatIsTornIsNone) {
  const std::string line = engine::event_line({.at_ms = 12, .event = "begin"});
  for (std::size_t size = 0; size + 2 < line.size(); ++size) {
    EXPECT_EQ(engine::read_event_line(line.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(engine::read_event_line("[]"), std::nullopt);
  EXPECT_EQ(engine::read_event_line(R"({"event":"begin"})"), std::nullopt);
}

// --- The files ---

class Records : public child::Scratch {
 protected:
  [[nodiscard]] std::string text() const { return read(path("file")); }
};

TEST_F(Records, BeginAnew) {
  write("file", "of an earlier run, which was longer");
  RecordFile file;
  file.open(path("file"));
  EXPECT_EQ(text(), "");
  file.add("1\n");
  file.add("23\n");
  file.flush();
  EXPECT_EQ(text(), "1\n23\n");
  file.flush();
  EXPECT_EQ(text(), "1\n23\n");
}

TEST_F(Records, AreNotKeptBackWithoutBound) {
  RecordFile file;
  file.open(path("file"));
  for (int i = 0; i < 100; ++i) file.add(std::string(1000, 'x'));
  EXPECT_GT(text().size(), 30'000U);
}

TEST_F(Records, EndAtFourMegabytes) {
  RecordFile file;
  file.open(path("file"));
  const std::string record(1 << 20, 'x');
  for (int i = 0; i < 6; ++i) file.add(record);
  EXPECT_EQ(text().size(), 4U << 20);
}

// A limit on file sizes stands for a full file system: the same short write.
TEST_F(Records, AreWholeWhereThereIsNoRoomAndSayItOnce) {
  const auto outcome = child::run([this] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    RecordFile file;
    file.open(path("file"));
    const auto write = [&file](const std::string& record) {
      file.add(record);
      file.flush();
    };
    write(std::string(50, '1'));
    for (int i = 0; i < 3; ++i) write(std::string(60, '2'));
    write("3");
    return 0;
  });
  EXPECT_EQ(text(), std::string(50, '1') + "3");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("recording the timeline: "), HasSubstr(", ignoring")));
  EXPECT_EQ(outcome.err.find("recording"), outcome.err.rfind("recording"));
}

TEST_F(Records, ThatCannotBeMadeAreAWarning) {
  const auto outcome = child::run([this] {
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    RecordFile file;
    file.open(path("no/file"));
    file.add("1");
    return 0;
  });
  EXPECT_THAT(outcome.err, HasSubstr("no/file: No such file"));
}

// --- Of a job ---

class TimelineOf : public Supervise {
 protected:
  [[nodiscard]] std::vector<trace::Item> items() const {
    const auto runs = report::read_runs(path("run"));
    if (!runs) return {};
    return trace::items_of(report::trace_of({report::chart_of(runs->at(0))}));
  }
  [[nodiscard]] std::string events() const { return read(path("run/events.jsonl")); }
};

TEST_F(TimelineOf, AJobLoadsAsATrace) {
  EXPECT_EQ(run(ranks(2, "[ $RANK_ID = 0 ] || exit 3; sleep 60")).code, 3);
  const auto all = items();
  const trace::Item* failed = trace::find(all, "X", "rank-1");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->args.at("exit_code"), "3");
  EXPECT_EQ(failed->args.at("rank"), "1");
  const trace::Item* stopped = trace::find(all, "X", "rank-0");
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->args.at("signal"), "SIGTERM");
  EXPECT_GE(stopped->start_us + stopped->duration_us, failed->start_us + failed->duration_us);
  for (const char* name : {"preparing", "stopping", "resolver"}) {
    EXPECT_NE(trace::find(all, "X", name), nullptr) << name;
  }
  EXPECT_NE(trace::find(all, "i", "SIGTERM"), nullptr);
  EXPECT_THAT(trace::find(all, "i", "first failure")->args.at("text"), HasSubstr("rank-1"));
  EXPECT_THAT(trace::find(all, "M", "process_name")->args.at("name"), HasSubstr("node 0"));
}

TEST_F(TimelineOf, AJobIsALineAnEvent) {
  EXPECT_EQ(run(ranks(2, "exit 0")).code, 0);
  std::istringstream lines(events());
  std::int64_t before = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto document = base::json::Document::parse(line, "events.jsonl");
    ASSERT_TRUE(document) << line;
    const std::int64_t at = trace::number_of(document->root(), "ts_ms");
    EXPECT_GE(at, before) << line;
    before = at;
  }
  EXPECT_GE(count, 10);
  EXPECT_THAT(events(), AllOf(HasSubstr(R"("event":"exec")"), HasSubstr(R"("task":"rank-1")"),
                              HasSubstr(R"("event":"exit")")));
}

TEST_F(TimelineOf, ARestartedJobHasEachRunOfATask) {
  envgen::Plan plan;
  plan.platform = "local";
  plan.framework = "pytorch";
  plan.processes = {shell("rank-0", "[ $TRAINIT_RESTART_COUNT = 1 ] || exit 3")};
  plan.policy.max_restarts = 1;
  plan.policy.restart_delay_ms = 100;
  EXPECT_EQ(run(planned(plan)).code, 0);
  const auto all = items();
  std::vector<std::string> incarnations;
  for (const trace::Item& item : all) {
    if (item.phase == "X" && item.name == "rank-0") {
      incarnations.push_back(item.args.at("incarnation") + ":" + item.args.at("exit_code"));
    }
  }
  EXPECT_THAT(incarnations, testing::ElementsAre("1:3", "2:0"));
  EXPECT_NE(trace::find(all, "X", "auto-restart"), nullptr);
}

TEST_F(TimelineOf, AJobWithoutAPlanIsWholeToo) {
  engine::Setup setup = ranks(1, "true");
  setup.request.rank_table = path("no-table");
  setup.request.rank_table_timeout_ms = 0;
  EXPECT_NE(run(std::move(setup)).code, 0);
  EXPECT_NE(trace::find(items(), "X", "resolver"), nullptr);
}

TEST_F(TimelineOf, APassThroughIsNone) {
  EXPECT_EQ(run(single("exit 0")).code, 0);
  EXPECT_EQ(events(), "");
}

TEST_F(TimelineOf, AJobIsCopiedWhereItIsAskedFor) {
  engine::Setup setup = ranks(1, "exit 0");
  setup.request.observe.timeline = path("kept/here");
  EXPECT_EQ(run(std::move(setup)).code, 0);
  EXPECT_EQ(read(path("kept/here/state.json")), read(path("run/state.json")));
  EXPECT_EQ(read(path("kept/here/plan.txt")), read(path("run/plan.txt")));
  EXPECT_EQ(read(path("kept/here/events.jsonl")), events());
  EXPECT_NE(events(), "");
}

TEST_F(TimelineOf, AJobThatCannotBeCopiedIsAWarning) {
  write("kept", "a file");
  engine::Setup setup = ranks(1, "exit 0");
  setup.request.observe.timeline = path("kept/here");
  const auto outcome = run(std::move(setup));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--timeline"), HasSubstr("ignoring")));
}

}  // namespace
