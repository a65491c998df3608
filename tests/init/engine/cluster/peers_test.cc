#include "init/engine/cluster/peers.h"

#include <gmock/gmock.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Time that a shell may need to answer, on a machine that stands still for a while.
constexpr std::int64_t kLimitMs = 180'000;

// A script in the ssh client's place: `ssh HOST trainit-peer-ping`, with a directory of its own.
class Peers : public child::Scratch {
 protected:
  Peers() {
    fs::create_directory(path("out"));
    wait_.probe = {"ssh", "-n"};
    wait_.timeout_ms = kLimitMs;
  }

  void put_ssh(const std::string& script) const {
    write("ssh", "#!/bin/sh\nhost=$2\ncd " + path("out") + "\n" + script, 0755);
  }
  void name_hosts(int count) {
    for (int i = 1; i <= count; ++i) wait_.hosts.push_back("node-" + std::to_string(i));
  }

  // Its code is 0 for an answer of all; stdout has what was said, stderr the error.
  child::Outcome run(std::int64_t attempt_ms = kLimitMs) {
    const base::Environ env({"PATH=" + path("") + ":/usr/bin:/bin", "MARK=as given"});
    const std::int64_t start_ms = sys::monotonic_ms();
    auto outcome = child::run([&] {
      const proc::SavedSignals saved = proc::take_over_signals();
      auto say = [](const std::string& reason) { child::say(STDOUT_FILENO, reason + "\n"); };
      auto failure = engine::wait_for_peers(wait_, env, saved, say, attempt_ms);
      if (!failure) return 0;
      child::say(STDERR_FILENO, to_line(failure->error));
      return failure->exit_code;
    });
    elapsed_ms_ = sys::monotonic_ms() - start_ms;
    return outcome;
  }

  // The scripts may not come to their word within the shortest of these times.
  static constexpr std::array<std::int64_t, 3> kTimeoutsMs = {3000, 12'000, 48'000};

  envgen::PeerWait wait_;
  std::int64_t elapsed_ms_ = 0;
};

TEST_F(Peers, AreAskedByTheProbeWithTheHostAndThePing) {
  name_hosts(2);
  put_ssh("echo \"$*|$MARK\" > asked-$host; read line && echo input > asked-$host; exit 0");
  auto outcome = run();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read(path("out/asked-node-1")), "-n node-1 trainit-peer-ping|as given\n");
  EXPECT_EQ(read(path("out/asked-node-2")), "-n node-2 trainit-peer-ping|as given\n");
}

TEST_F(Peers, NoneAreNoWait) { EXPECT_EQ(run().code, 0); }

TEST_F(Peers, ThatComeLateAreAskedAgainAndTheOthersAreNot) {
  name_hosts(3);
  put_ssh(
      "echo x >> asked-$host\n"
      "[ $host != node-2 ] || [ $(wc -l < asked-$host) -ge 3 ] && exit 0\n"
      "echo 'Warning: something' >&2; echo \"$host: Connection refused\" >&2; echo >&2; exit 255");
  auto outcome = run();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of 3 peers ("));
  EXPECT_THAT(outcome.out, HasSubstr("node-2: node-2: Connection refused\n"));
  EXPECT_EQ(read(path("out/asked-node-1")), "x\n");
  EXPECT_EQ(read(path("out/asked-node-2")), "x\nx\nx\n");
}

TEST_F(Peers, ThatNeverAnswerAreNamedAtTheDeadline) {
  name_hosts(20);
  put_ssh("n=${host#node-}; [ $n -le 8 ] && exit 0; echo \"no route to $host\" >&2; exit 255");
  child::Outcome outcome;
  for (const std::int64_t timeout_ms : kTimeoutsMs) {
    wait_.timeout_ms = timeout_ms;
    outcome = run();
    EXPECT_GE(elapsed_ms_, timeout_ms);
    if (outcome.err.contains("12 of 20") && outcome.err.contains("no route")) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("waiting for the peers' sshd: node-9, node-10, node-11, node-12, "
                              "node-13, node-14, node-15, node-16 and 4 more: "),
                    HasSubstr("12 of 20"), HasSubstr("node-9: no route to node-9"),
                    HasSubstr("--peer-timeout")));
}

TEST_F(Peers, ThatHangAreGivenUpAndAskedAgain) {
  name_hosts(1);
  put_ssh(
      "echo x >> asked; [ $(wc -l < asked) -ge 2 ] && exit 0\n"
      "trap '' TERM; while :; do sleep 60; done");
  // The second one, too, has to answer within the time that the first one is given.
  for (const std::int64_t attempt_ms : {300, 3000, 30'000}) {
    fs::remove(path("out/asked"));
    auto outcome = run(attempt_ms);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GE(elapsed_ms_, attempt_ms);
    if (read(path("out/asked")) == "x\nx\n") break;
  }
  EXPECT_EQ(read(path("out/asked")), "x\nx\n");
}

TEST_F(Peers, ThatSayTooMuchAreNotSaidToBeSilent) {
  name_hosts(1);
  put_ssh("yes");
  child::Outcome outcome;
  for (const std::int64_t timeout_ms : {2500, 25'000}) {
    wait_.timeout_ms = timeout_ms;
    outcome = run();
    if (outcome.err.contains("node-1: ")) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_THAT(outcome.err, HasSubstr("node-1: more than 1048576 bytes of output"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("no answer")));
}

TEST_F(Peers, ThatHangAreSaidToAfterAWhile) {
  name_hosts(1);
  put_ssh("while :; do sleep 60; done");
  child::Outcome outcome;
  // Half a second is left to say it in.
  for (const std::int64_t timeout_ms : {2500, 25'000}) {
    wait_.timeout_ms = timeout_ms;
    outcome = run();
    if (!outcome.out.empty()) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_EQ(outcome.out, "1 of 1 peers (node-1): no answer yet\n");
}

TEST_F(Peers, AClientThatLeavesSomethingBehindHasEndedNevertheless) {
  name_hosts(1);
  put_ssh("sleep 3 & exit 0");  // it keeps the output open
  auto outcome = run();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Peers, AreAskedThirtyTwoAtATime) {
  name_hosts(40);
  // Each waits until as many run as will ever run at a time, and a little for one more.
  put_ssh(
      ": > run-$host\n"
      "until [ -e open ] || [ $(ls run-* | wc -l) -ge 32 ]; do sleep 0.2; done; : > open\n"
      "sleep 0.3; ls run-* | wc -l >> counts; rm run-$host; exit 0");
  auto outcome = run();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ifstream counts(path("out/counts"));
  int most = 0;
  int total = 0;
  for (int count = 0; counts >> count; ++total) most = std::max(most, count);
  EXPECT_EQ(total, 40);
  EXPECT_EQ(most, 32);
}

TEST_F(Peers, AMissingClientIsSaidAtOnce) {
  name_hosts(2);
  wait_.probe = {path("no-ssh")};
  auto outcome = run();
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(path("no-ssh")), HasSubstr("openssh-client")));
}

TEST_F(Peers, ACodeOf127FromTheOtherSideIsOnlyNoAnswer) {
  name_hosts(1);
  put_ssh("echo 'bash: trainit-peer-ping: command not found' >&2; exit 127");
  child::Outcome outcome;
  for (const std::int64_t timeout_ms : kTimeoutsMs) {
    wait_.timeout_ms = timeout_ms;
    outcome = run();
    if (outcome.err.contains("not found")) break;
  }
  EXPECT_EQ(outcome.code, 69);
  EXPECT_THAT(outcome.err, HasSubstr("trainit-peer-ping: command not found"));
}

}  // namespace
