// Plans with services, post-stop processes and peers, run by the engine.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "base/json.h"
#include "init/engine/state/state.h"
#include "init/engine/state/status_text.h"
#include "init/sys/clock.h"
#include "tests/init/engine/supervise.h"
#include "tests/test_timeout.h"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* kTellCode =
    "echo \"$TRAINIT_EXIT_CODE ${TRAINIT_FIRST_FAILURE-none}\" > $OUT/told-code";

// As an ordinary process and, where that can be had, as PID 1.
class Planned : public Supervise, public testing::WithParamInterface<bool> {
 protected:
  Planned() {
    plan_.platform = "vk";
    plan_.framework = "mpi";
    plan_.local_node = envgen::LocalNode{};
    // Times that are longer than any delay of a loaded machine, and than what has to end at once.
    plan_.policy.grace_ms = 5 * kAtOnceMs;
    plan_.policy.post_stop_ms = 2 * kAtOnceMs;
  }

  child::Outcome run() {
    start_ms_ = sys::monotonic_ms();
    engine::Setup setup = planned(plan_);
    setup.own_variables = {"TRAINIT_GRACE"};
    setup.base.env.set("TRAINIT_GRACE", "20s");
    setup.base.env.set("PATH", path("bin") + ":/usr/bin:/bin");
    if (!GetParam()) return Supervise::run(std::move(setup));
    auto outcome = run_as_pid1(std::move(setup));
    if (!outcome) {
      skipped_ = true;
      return {};
    }
    return *outcome;
  }
  [[nodiscard]] std::int64_t elapsed_ms() const { return sys::monotonic_ms() - start_ms_; }
  [[nodiscard]] std::string code_told() const { return read(path("out/told-code")); }
  [[nodiscard]] engine::JobReport report() const {
    return *engine::state_from_json(read(path("run/state.json")), "state.json");
  }

  envgen::Plan plan_;
  bool skipped_ = false;
  std::int64_t start_ms_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Run, Planned, testing::Values(true, false),
                         [](const auto& value) { return value.param ? "AsPid1" : "NotPid1"; });
#define SKIP_WHERE_NO_NAMESPACE() \
  if (skipped_) GTEST_SKIP() << "needs a pid namespace"

// --- Services ---

TEST_P(Planned, AServiceRunsBesideTheMainProcessAndIsStoppedAfterIt) {
  plan_.processes = {shell("main", "read word < $DONE; echo > $OUT/main-$word")};
  plan_.services = {shell("sshd",
                          "trap 'echo > $OUT/service-stopped; exit 9' TERM\n"
                          "echo up > $DONE; sleep 60 & wait")};
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(path("out/main-up")));
  EXPECT_TRUE(fs::exists(path("out/service-stopped")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("vk/mpi: node 0 of 1, starting main, services: sshd"),
                                 Not(HasSubstr("warning"))));
}

TEST_P(Planned, AServiceHasItsOwnSessionNoInputAndItsLog) {
  plan_.processes = {shell("main", "read word < $DONE")};
  plan_.services = {shell("sshd",
                          "read -r line && echo input; cut -d' ' -f1,5,6 /proc/self/stat >&2\n"
                          "echo \"$$\"; echo up > $DONE; sleep 60 & wait")};
  plan_.services[0].log = path("sshd.log");
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream log(read(path("sshd.log")));
  std::string pid, group, session, shell_pid;
  log >> pid >> group >> session >> shell_pid;
  EXPECT_EQ(group, shell_pid);
  EXPECT_EQ(session, shell_pid);
  EXPECT_EQ(outcome.out, "");
}

TEST_P(Planned, AServiceThatCannotStartIsAWarning) {
  plan_.processes = {shell("main", "exit 0")};
  plan_.services = {shell("sshd", "")};
  plan_.services[0].argv = {path("missing"), "serve"};
  plan_.post_stop = {shell("end", kTellCode)};
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(code_told(), "0 none\n");
}

TEST_P(Planned, AServiceThatEndsIsAWarningAndTheJobGoesOn) {
  for (const bool missing : {false, true}) {
    forget();
    plan_.processes = {
        shell("main",
              "until grep -A1 '\"service\"' $TRAINIT_RUN_DIR/state.json | grep -q ended\n"
              "do sleep 0.02; done; exit 4")};
    plan_.services = {shell("sshd", "exit 3")};
    plan_.services[0].log = path("sshd.log");
    if (missing) plan_.services[0].argv = {path("missing")};
    auto outcome = run();
    SKIP_WHERE_NO_NAMESPACE();
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr(missing ? "warning: service sshd could not start: " +
                                              path("missing") + ": found "
                                        : "warning: service sshd exited with code 3"),
                      HasSubstr(missing ? "; correct the path" : ""),
                      HasSubstr("goes on without it; its output: " + path("sshd.log"))));
  }
}

TEST_P(Planned, TheStateHasServicesAndPostStopProcessesByNameAndKind) {
  plan_.processes = {shell("main", "read word < $DONE")};
  plan_.services = {shell("sshd", "echo up > $DONE; sleep 60 & wait")};
  plan_.post_stop = {shell("end", "exit 0")};
  run();
  SKIP_WHERE_NO_NAMESPACE();
  std::vector<std::string> tasks;
  for (const engine::TaskReport& task : report().tasks) {
    tasks.push_back(task.name + " " + task.kind + " " + task.state);
  }
  EXPECT_THAT(tasks, ElementsAre("resolver resolve ended", "sshd service ended", "main main ended",
                                 "end post-stop ended"));
  EXPECT_THAT(engine::state_to_text(report(), 0),
              AllOf(HasSubstr("sshd"), HasSubstr("(service)"), HasSubstr("(post-stop)")));
}

// --- The environment ---

TEST_P(Planned, ThePlansEnvironmentIsEveryProcesssAndItsOwnComesAfter) {
  using Kind = base::EnvEdit::Kind;
  plan_.env = {{Kind::kSet, "FROM_PLAN", "plan"},
               {Kind::kSet, "BOTH", "plan"},
               {Kind::kSetDefault, "OUT", "not this"}};
  auto own = [](envgen::Process process) {
    process.env = {{Kind::kSet, "BOTH", process.name}};
    return process;
  };
  constexpr const char* kTell = "echo \"$FROM_PLAN $BOTH ${TRAINIT_GRACE-unset}\" > $OUT/env-$BOTH";
  plan_.processes = {own(shell("main", std::string(kTell) + "; read word < $DONE"))};
  plan_.processes[0].env_file = path("main.env");
  plan_.services = {own(shell("sshd", std::string(kTell) + "; echo up > $DONE; sleep 60 & wait"))};
  plan_.post_stop = {own(shell("end", kTell))};
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  for (const std::string name : {"main", "sshd", "end"}) {
    EXPECT_EQ(read(path("out/env-" + name)), "plan " + name + " unset\n") << outcome.err;
  }
  EXPECT_THAT(read(path("main.env")), AllOf(HasSubstr("FROM_PLAN=plan\n"), HasSubstr("BOTH=main")));
}

// --- Post-stop processes ---

TEST_P(Planned, PostStopProcessesRunOneAfterTheOtherAfterSuccess) {
  plan_.processes = {shell("main", "exit 0")};
  plan_.post_stop = {shell("first", "sleep 0.2; echo first >> $OUT/order"),
                     shell("second", std::string("echo second >> $OUT/order;") + kTellCode)};
  const auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("out/order")), "first\nsecond\n");
  EXPECT_EQ(code_told(), "0 none\n");
}

TEST_P(Planned, PostStopProcessesAreToldTheCodeAndTheFirstFailure) {
  plan_.processes = {shell("main", "exit 7")};
  plan_.post_stop = {shell("end", kTellCode)};
  const auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(code_told(), AllOf(testing::StartsWith("7 main "), HasSubstr("exited with code 7")));
}

TEST_P(Planned, PostStopProcessesRunAfterAStop) {
  plan_.processes = {shell("main", "kill -TERM $PPID; exec sleep 1000")};
  plan_.services = {shell("sshd", "sleep 60 & wait")};
  plan_.post_stop = {shell("end", kTellCode)};
  const auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 143);
  EXPECT_EQ(code_told(), "143 none\n");
}

TEST_P(Planned, APostStopProcessThatFailsChangesNoCode) {
  plan_.processes = {shell("main", "exit 5")};
  plan_.post_stop = {shell("end", "exit 9"), shell("gone", ""), shell("third", kTellCode)};
  plan_.post_stop[1].argv = {path("missing")};
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning: post-stop process end exited with code 9"),
                                 HasSubstr("warning: post-stop process gone could not start")));
  EXPECT_THAT(code_told(), testing::StartsWith("5 "));
}

TEST_P(Planned, AHangingPostStopProcessIsKilledWithinTheGrace) {
  plan_.processes = {shell("main", "kill -TERM $PPID; exec sleep 1000")};
  plan_.post_stop = {shell("end", "trap '' TERM; echo > $OUT/began-end; exec sleep 1000")};
  child::Outcome outcome;
  // The shell may need more time for its trap.
  for (const std::int64_t limit_ms : {1000, 4000, 16'000}) {
    plan_.policy.grace_ms = 2 * limit_ms;
    plan_.policy.post_stop_ms = limit_ms;
    outcome = run();
    SKIP_WHERE_NO_NAMESPACE();
    if (told("began") == 1) break;
  }
  EXPECT_EQ(outcome.code, 143);
  EXPECT_EQ(told("began"), 1);
  EXPECT_LT(elapsed_ms(), kAtOnceMs);
  EXPECT_THAT(outcome.err, HasSubstr("post-stop process end was killed by SIGKILL"));
}

TEST_P(Planned, ASecondInterruptEndsAPostStopProcessAtOnce) {
  plan_.processes = {shell("main", "sleep 1000 & trap 'exit 3' INT; kill -INT $PPID; wait")};
  plan_.post_stop = {shell("end", "trap '' TERM INT; kill -INT $PPID; exec sleep 1000")};
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_LT(elapsed_ms(), kAtOnceMs);
}

// --- Peers ---

// The ssh client's stand-in: called as `ssh -p 2222 HOST trainit-peer-ping`.
class PlannedPeers : public Planned {
 protected:
  PlannedPeers() {
    fs::create_directory(path("bin"));
    plan_.processes = {shell("main", "echo > $OUT/ran-main")};
    plan_.peers = envgen::PeerWait{{"node-1", "node-2"}, {"ssh", "-p", "2222"}, 60'000};
  }
  void put_ssh(const std::string& script) const {
    write("bin/ssh", "#!/bin/sh\nhost=$3\n" + script, 0755);
  }
};
INSTANTIATE_TEST_SUITE_P(Run, PlannedPeers, testing::Values(true, false),
                         [](const auto& value) { return value.param ? "AsPid1" : "NotPid1"; });

TEST_P(PlannedPeers, TheJobStartsWhenAllHaveAnswered) {
  put_ssh(
      "[ ! -e $OUT/ran-main ] || echo > $OUT/early\n"
      "[ $host = node-1 ] || [ -e $OUT/tried ] && exit 0\n"
      "echo > $OUT/tried; echo 'connect to host node-2 port 2222: Connection refused' >&2; exit "
      "255");
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(told("ran"), 1);
  EXPECT_FALSE(fs::exists(path("out/early")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("waiting for "), HasSubstr("of 2 peers ("),
                    HasSubstr("node-2: connect to host node-2 port 2222: Connection refused")));
}

TEST_P(PlannedPeers, WithoutAnAnswerItEndsWith69AndNothingStarts) {
  plan_.post_stop = {shell("end", kTellCode)};
  put_ssh("[ $host = node-1 ] && exit 0; echo 'Permission denied (publickey).' >&2; exit 255");
  child::Outcome outcome;
  // The clients may need more time.
  for (const std::int64_t limit_ms : {3000, 30'000}) {
    plan_.peers->timeout_ms = limit_ms;
    outcome = run();
    SKIP_WHERE_NO_NAMESPACE();
    if (outcome.err.contains("peers' sshd: node-2") && outcome.err.contains("publickey")) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_EQ(told("ran"), 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("first failure: waiting for the peers' sshd: node-2"),
                                 HasSubstr("Permission denied (publickey)"),
                                 HasSubstr("--peer-timeout"), Not(HasSubstr("defect"))));
  EXPECT_EQ(report().state, "error");
}

TEST_P(PlannedPeers, ThoseThatAnsweredAreToldWhenTheOthersDoNot) {
  plan_.post_stop = {shell("end", kTellCode), shell("again", "exec sleep 1000")};
  put_ssh("[ $host = node-1 ]");
  child::Outcome outcome;
  // The clients may need more time, and `end` to tell.
  for (const std::int64_t limit_ms : {3000, 20'000}) {
    plan_.peers->timeout_ms = limit_ms;
    plan_.policy.post_stop_ms = limit_ms + 2000;
    outcome = run();
    SKIP_WHERE_NO_NAMESPACE();
    if (code_told().contains("ssh exited with code 1")) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_THAT(code_told(), AllOf(testing::StartsWith("69 waiting for the peers"),
                                 HasSubstr("ssh exited with code 1")));
  EXPECT_LT(elapsed_ms(), 2 * kAtOnceMs) << "nobody waits for the sleep";
}

TEST_P(PlannedPeers, WithoutAnSshClientItEndsAtOnce) {
  for (const int mode : {0, 0644}) {
    if (mode != 0) write("bin/ssh", "#!/bin/sh\nexit 0", static_cast<mode_t>(mode));
    plan_.peers->probe[0] = path("bin/ssh");
    auto outcome = run();
    SKIP_WHERE_NO_NAMESPACE();
    EXPECT_EQ(outcome.code, 125) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(path("bin/ssh")), HasSubstr("openssh-client")));
    EXPECT_EQ(told("ran"), 0);
    EXPECT_LT(elapsed_ms(), kAtOnceMs);
  }
}

TEST_P(PlannedPeers, AStopEndsTheWaitAndItsClientsAtOnce) {
  // The client's parent is the resolver, and the resolver's parent is trainit.
  put_ssh(
      "trap '' TERM\n"
      "[ $host = node-1 ] && exit 0\n"
      "exec 9<> $DONE\n"
      "kill -TERM $(cut -d' ' -f4 /proc/$PPID/stat)\n"
      "exec sleep 1000");
  auto outcome = run();
  SKIP_WHERE_NO_NAMESPACE();
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  EXPECT_EQ(told("ran"), 0);
  EXPECT_LT(elapsed_ms(), kAtOnceMs);
  // Nobody has the FIFO open any more: to open it for writing finds no reader. Who was killed may
  // have it for a moment still.
  int error = 0;
  for (TestTimeout timeout; error != ENXIO && timeout.is_left();) {
    const sys::Fd fifo(::open(path("done").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    error = fifo.valid() ? 0 : errno;
    if (error != ENXIO) ::poll(nullptr, 0, 5);
  }
  EXPECT_EQ(error, ENXIO);
}

}  // namespace
