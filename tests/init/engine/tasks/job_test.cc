#include "init/engine/tasks/job.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>

#include "init/engine/report/job_messages.h"
#include "tests/init/child.h"

namespace {

using engine::Job;
using engine::TaskRecord;
using lifecycle::ExitStatus;
using lifecycle::Machine;
using lifecycle::TaskKind;
using testing::HasSubstr;
using testing::Not;
namespace event = lifecycle::event;

constexpr ExitStatus kExit3{ExitStatus::How::kExited, 3};
constexpr ExitStatus kKilled{ExitStatus::How::kSignaled, SIGKILL};

TEST(BeginRun, ForgetsThePreviousRunOfTheTask) {
  TaskRecord record{.name = "rank-3", .kind = TaskKind::kMain, .process = 3};
  record.incarnation = 1;
  record.exit_status = kExit3;
  record.hook_message = "a hook failed";
  record.stall = "no step for 30 s";
  record.stop_sent = record.unasked = record.core = record.paused = true;
  record.started_ms = 1000;
  record.ended_ms = 2000;  // would be the end of a rank that runs
  record.ran_ms = 1000;
  record.warm = "ready: pid 9, torch";
  engine::begin_run(record, 2);
  EXPECT_EQ(record.name, "rank-3");
  EXPECT_EQ(record.process, 3);
  EXPECT_EQ(record.warm, "ready: pid 9, torch") << "it becomes this run";
  EXPECT_EQ(record.incarnation, 2U);
  EXPECT_GT(record.started_ms, 1000);
  EXPECT_EQ(record.ended_ms, 0);
  EXPECT_EQ(record.ran_ms, -1);
  EXPECT_FALSE(record.exit_status.has_value());
  EXPECT_EQ(record.hook_message + record.stall, "");
  EXPECT_FALSE(record.stop_sent || record.unasked || record.core || record.paused);
}

// A node with ranks 8, 9, ... whose first one has our stdout, as the engine keeps it.
class Failure : public testing::Test {
 protected:
  [[nodiscard]] engine::JobReport report() const { return engine::report_of(job_, machine_, 0); }
  explicit Failure(int ranks = 3) {
    job_.plan.platform = "modelarts";
    job_.plan.local_node = envgen::LocalNode{1, ""};
    job_.plan.node_count = 2;
    job_.host = "worker-b";
    job_.plan.world_size = 16;
    job_.records.emplace_back().name = "resolver";
    for (int i = 0; i < ranks; ++i) add_rank(8 + i, i);
    machine_.step(event::Begin{}, 0);
    event::ClusterReady ready;
    ready.tasks.assign(static_cast<std::size_t>(ranks), TaskKind::kMain);
    machine_.step(ready, 0);
  }

  void add_rank(int rank, int device) {
    envgen::Process process;
    process.name = "rank-" + std::to_string(rank);
    process.rank = rank;
    process.device = device;
    if (device > 0) process.log = "/logs/" + process.name + ".txt";
    TaskRecord& record = job_.records.emplace_back();
    record.name = process.name;
    record.process = device;
    record.pid = 100 + device;
    record.started_ms = 1000;
    record.ended_ms = 62'500;
    record.ran_ms = 61'500;
    job_.plan.processes.push_back(std::move(process));
  }

  void resolver_ends(ExitStatus exit_status) {
    machine_.step(event::TasksEnded{{{{0, 1}, exit_status}}}, 1);
  }
  void start() {
    resolver_ends({});
    for (std::uint32_t i = 1; i < job_.records.size(); ++i) {
      machine_.step(event::TaskStarted{{i, 1}}, 1);
    }
  }
  void end(const std::vector<std::pair<std::uint32_t, ExitStatus>>& deaths) {
    event::TasksEnded ended;
    for (const auto& [task, exit_status] : deaths) ended.ends.push_back({{task, 1}, exit_status});
    machine_.step(ended, 2);
  }
  [[nodiscard]] std::string text(std::optional<std::uint64_t> oom_kills = std::nullopt) const {
    return describe_failure(job_, machine_, oom_kills);
  }

  Job job_;
  Machine machine_{{}, {TaskKind::kResolve}};
};

TEST_F(Failure, IsNothingWithoutOne) {
  start();
  EXPECT_EQ(text(), "");
}

TEST_F(Failure, OfAPlanThatHasFewerRanksByNowKeepsNoneOfTheOld) {
  start();
  job_.plan.processes.resize(1);  // the list of nodes is another one
  engine::name_records(job_, machine_);
  EXPECT_EQ(job_.records[2].process, -1);
  EXPECT_EQ(engine::planned(job_, job_.records[2]), nullptr);
  EXPECT_EQ(engine::main_pids(job_), (std::vector<pid_t>{100}));
  EXPECT_EQ(report().tasks[2].rank, -1);
}

TEST_F(Failure, NamesRankNodeDeviceCodeTimeLogAndWhoWasStopped) {
  start();
  end({{2, kExit3}});
  EXPECT_EQ(text(),
            "rank-9 (node 1 worker-b, device 1) exited with code 3 after 61.5 s; "
            "its output on node 1: /logs/rank-9.txt; stopped because of it: "
            "rank-8, rank-10");
}

TEST_F(Failure, KnowsHowLongItTookThoughTheClockWasSetBack) {
  start();
  end({{2, kExit3}});
  job_.records[2].ended_ms = 500;
  EXPECT_THAT(text(), HasSubstr("exited with code 3 after 61.5 s;"));
}

TEST_F(Failure, OfTheRankOnStdoutNamesNoLog) {
  start();
  end({{1, kExit3}});
  EXPECT_THAT(text(), Not(HasSubstr("output")));
}

TEST_F(Failure, NamesTheSignalAndTheCoreDump) {
  start();
  job_.records[1].core = true;
  end({{1, {ExitStatus::How::kSignaled, SIGSEGV}}});
  EXPECT_THAT(text(), HasSubstr("was killed by SIGSEGV (core dumped) after"));
}

TEST_F(Failure, ListsThoseSeenInTheSameTurn) {
  start();
  end({{3, kKilled}, {1, kExit3}});
  EXPECT_THAT(text(), HasSubstr("rank-10 (node 1 worker-b, device 2) was killed by SIGKILL"));
  EXPECT_THAT(text(),
              HasSubstr("at the same time: rank-8 (node 1 worker-b, device 0) exited with code 3"));
  EXPECT_THAT(text(), HasSubstr("stopped because of it: rank-9"));
}

TEST_F(Failure, IsCalledOutOfMemoryOnlyWhereTheKernelCountedOne) {
  start();
  end({{1, kKilled}});
  job_.start.oom_kills_before = 4;
  EXPECT_THAT(text(5),
              HasSubstr("out of memory, the kernel's OOM killer struck (oom_kill 4 -> 5)"));
  EXPECT_THAT(text(4), Not(HasSubstr("memory")));
  EXPECT_THAT(text(std::nullopt), Not(HasSubstr("memory")));
  job_.start.oom_kills_before.reset();
  EXPECT_THAT(text(5), Not(HasSubstr("memory")));
}

TEST_F(Failure, ByAnotherSignalIsNotCalledOutOfMemory) {
  start();
  job_.start.oom_kills_before = 4;
  end({{1, {ExitStatus::How::kSignaled, SIGABRT}}});
  EXPECT_THAT(text(5), Not(HasSubstr("out of memory")));
  EXPECT_THAT(text(4), Not(HasSubstr("OOM")));
}

// A data loader's worker is killed, and the rank ends because of it.
TEST_F(Failure, SaysThatTheKernelKilledAnotherProcessForItsMemory) {
  start();
  job_.start.oom_kills_before = 4;
  end({{1, kExit3}});
  EXPECT_THAT(text(6), HasSubstr("exited with code 3 after 61.5 s; the kernel's OOM killer struck "
                                 "another process before (oom_kill 4 -> 6)"));
  EXPECT_THAT(text(4), Not(HasSubstr("OOM")));
}

TEST_F(Failure, IsNotNeededToTellOfAProcessKilledForItsMemory) {
  job_.start.oom_kills_before = 4;
  EXPECT_THAT(oom_warning(job_, 5), HasSubstr("(oom_kill 4 -> 5)"));
  EXPECT_EQ(oom_warning(job_, 4), "");
  EXPECT_EQ(oom_warning(job_, std::nullopt), "");
}

TEST_F(Failure, ToStartSaysWhyAndNoTime) {
  start();
  job_.records[2].failure = {127, {"starting python", "PATH=/bin", "no such program there", "fix"}};
  end({{2, {ExitStatus::How::kNotStarted, 127}}});
  EXPECT_THAT(text(), HasSubstr("rank-9 (node 1 worker-b, device 1) could not start: python: "
                                "PATH=/bin: found no such program there; fix"));
  EXPECT_THAT(text(), Not(HasSubstr("after")));
}

TEST_F(Failure, NamesNobodyAsStoppedWhoNeverStarted) {
  start();
  // A pids limit stops the ranks behind it as well, and their ends are told later.
  job_.records[3].pid = 0;
  end({{2, {ExitStatus::How::kNotStarted, 125}}});
  EXPECT_THAT(text(), HasSubstr("stopped because of it: rank-8"));
  EXPECT_THAT(text(), Not(HasSubstr("rank-10")));
}

TEST_F(Failure, OfTheResolverIsWhatItSaid) {
  Machine fresh{{}, {TaskKind::kResolve}};
  machine_ = fresh;
  machine_.step(event::Begin{}, 0);
  machine_.step(event::ResolveFailed{125}, 0);
  job_.resolver_message = "reading the rank table: /t: found x; do y";
  resolver_ends({ExitStatus::How::kExited, 125});
  EXPECT_EQ(text(), "node 1 (worker-b): reading the rank table: /t: found x; do y")
      << "the other nodes print it too";
  job_.plan.node_count = 1;
  EXPECT_EQ(text(), "reading the rank table: /t: found x; do y");
}

TEST_F(Failure, OfAResolverThatSaidNothingAsksForAReport) {
  machine_ = Machine{{}, {TaskKind::kResolve}};
  machine_.step(event::Begin{}, 0);
  resolver_ends({ExitStatus::How::kSignaled, SIGSEGV});
  EXPECT_THAT(text(), HasSubstr("the resolver was killed by SIGSEGV"));
  EXPECT_THAT(text(), HasSubstr("trainit snapshot"));
}

TEST_F(Failure, OfAResolverThatTheKernelKilledForMemorySaysThat) {
  machine_ = Machine{{}, {TaskKind::kResolve}};
  machine_.step(event::Begin{}, 0);
  job_.start.oom_kills_before = 0;
  resolver_ends(kKilled);
  EXPECT_THAT(text(1), HasSubstr("out of memory"));
  EXPECT_THAT(text(1), Not(HasSubstr("defect")));
}

TEST_F(Failure, OfAResolverThatHangsNamesWhatWasWaitedFor) {
  machine_ = Machine{{.resolve_timeout_ms = 10}, {TaskKind::kResolve}};
  auto actions = machine_.step(event::Begin{}, 0);
  for (const auto& one : actions) {
    if (const auto* timer = std::get_if<lifecycle::action::SetTimer>(&one)) {
      machine_.step(event::TimerFired{timer->timer, timer->generation}, 10);
    }
  }
  job_.waiting_for = "/mnt/t.json: empty";
  EXPECT_THAT(text(), AllOf(HasSubstr("hangs"), HasSubstr("/mnt/t.json: empty")));
}

class FailureOfMany : public Failure {
 protected:
  FailureOfMany() : Failure(64) {}
};

TEST_F(FailureOfMany, StaysReadable) {
  start();
  end({{1, kExit3}});
  EXPECT_THAT(text(), HasSubstr("and 55 more"));
  EXPECT_LT(text().size(), 400U);
}

TEST_F(FailureOfMany, AtOnceStaysReadable) {
  start();
  std::vector<std::pair<std::uint32_t, ExitStatus>> all;
  for (std::uint32_t i = 1; i <= 64; ++i) all.emplace_back(i, kExit3);
  end(all);
  EXPECT_THAT(text(), HasSubstr("and 55 more"));
  EXPECT_THAT(text(), Not(HasSubstr("stopped because")));
}

// --- The report ---

TEST_F(Failure, IsAnErrorInTheReport) {
  start();
  job_.records[1].pid = 41;
  end({{2, kKilled}});
  const engine::JobReport report = this->report();
  EXPECT_EQ(report.state, "error");
  EXPECT_EQ(report.phase, "stopping");
  EXPECT_EQ(report.node_rank, 1);
  ASSERT_EQ(report.tasks.size(), 4U);
  EXPECT_EQ(report.tasks[0].kind, "resolve");
  EXPECT_EQ(report.tasks[1].pid, 41);
  EXPECT_EQ(report.tasks[1].state, "running");
  EXPECT_EQ(report.tasks[1].exit_code, -1);
  EXPECT_EQ(report.tasks[2].state, "ended");
  EXPECT_EQ(report.tasks[2].signal, "SIGKILL");
  EXPECT_EQ(report.tasks[2].exit_code, 137);
  EXPECT_EQ(report.tasks[2].rank, 9);
  EXPECT_EQ(report.tasks[2].log, "/logs/rank-9.txt");
}

TEST_F(Failure, IsNoneInTheReportOfAStop) {
  start();
  EXPECT_EQ(report().state, "running");
  machine_.step(event::StopRequested{SIGTERM}, 2);
  EXPECT_EQ(report().state, "stopped");
  EXPECT_EQ(report().stop_signal, "SIGTERM");
}

// What expires is the job's own time, and that is final. What did not come may come the next time.
TEST_F(Failure, OfAWaitIsAnErrorInTheReport) {
  machine_ = Machine{{}, {TaskKind::kResolve}};
  machine_.step(event::Begin{}, 0);
  machine_.step(event::ResolveFailed{69}, 0);
  resolver_ends({ExitStatus::How::kExited, 69});
  EXPECT_EQ(report().state, "error");
}

TEST_F(Failure, DoesNotEndTheReportOfAJobThatIsNotNamedYet) {
  job_.records.resize(1);  // the machine has the tasks, the engine has not named them
  EXPECT_EQ(report().tasks.size(), 1U);
}

// --- The termination log ---

class TerminationLog : public child::Scratch {
 protected:
  [[nodiscard]] std::string after(const std::string& message) const {
    const std::string file = write("log", "what an earlier run left, which is longer than that");
    engine::write_termination_log(file.c_str(), message);
    return read(file);
  }
};

TEST_F(TerminationLog, IsReplacedByTheMessage) {
  EXPECT_EQ(after("rank-3 died\n"), "rank-3 died\n");
}

TEST_F(TerminationLog, IsNotMadeWhereThereIsNone) {
  engine::write_termination_log(path("absent").c_str(), "x");
  struct stat status{};
  EXPECT_NE(::stat(path("absent").c_str(), &status), 0);
}

// An instance that the job starts may have another RUN_DIR, or none.
TEST_F(TerminationLog, IsTheFirstInstances) {
  const std::string file = write("log", "");
  sys::Fd first = engine::lock_termination_log(file.c_str());
  EXPECT_TRUE(first.valid());
  EXPECT_FALSE(engine::lock_termination_log(file.c_str()).valid());
  first.reset();
  EXPECT_TRUE(engine::lock_termination_log(file.c_str()).valid());
  EXPECT_FALSE(engine::lock_termination_log(path("absent").c_str()).valid());
}

TEST_F(TerminationLog, HasAtMost4096Bytes) {
  EXPECT_EQ(after(std::string(4096, 'x')).size(), 4096U);
  EXPECT_EQ(after(std::string(4097, 'x')).size(), 4096U);
  EXPECT_EQ(after(std::string(100'000, 'x')).size(), 4096U);
}

TEST_F(TerminationLog, IsCutBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  for (std::size_t before : {4093U, 4094U, 4095U, 4096U}) {
    const std::string cut = after(std::string(before, 'x') + euro + euro);
    EXPECT_EQ(cut, std::string(before, 'x') + (before == 4093U ? euro : "")) << before;
  }
}

TEST_F(TerminationLog, IsCutAlsoWhereThereAreNoCharacters) {
  EXPECT_GE(after(std::string(5000, '\x80')).size(), 4090U);
}

TEST_F(TerminationLog, ThatIsADirectoryOrAFifoIsLeftAlone) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  engine::write_termination_log(path("fifo").c_str(), "x");  // would block without a reader
  engine::write_termination_log(path(".").c_str(), "x");
}

}  // namespace
