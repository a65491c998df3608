// The end of a peer: when it comes, and with which code.

#include "init/sshd/peer_exit.h"

#include <gtest/gtest.h>

#include <csignal>

#include "init/sshd/session.h"

namespace {

using sshd::PeerExit;
using sshd::PeerExitRule;
using sshd::Why;

constexpr std::int64_t kTimeout = 60'000;
constexpr std::int64_t kLong = 1'000'000'000;

TEST(PeerEnding, AWorkerExpiresWhenNoSessionComes) {
  const PeerExitRule ending(kTimeout, 100);
  EXPECT_EQ(ending.deadline_ms(), 100 + kTimeout);
  EXPECT_EQ(ending.verdict(99 + kTimeout), std::nullopt);
  EXPECT_EQ(ending.verdict(100 + kTimeout), (PeerExit{69, Why::kNoLauncher}));
}

TEST(PeerEnding, TheTimeoutCountsAgainFromTheEndOfTheLastSession) {
  PeerExitRule ending(kTimeout, 0);
  ending.set_open(2, 1000);
  EXPECT_EQ(ending.deadline_ms(), std::nullopt);
  EXPECT_EQ(ending.verdict(kLong), std::nullopt);
  ending.set_open(1, 5000);
  ending.set_open(0, 200'000);
  ending.set_open(0, 210'000);
  EXPECT_EQ(ending.deadline_ms(), 200'000 + kTimeout);
}

TEST(PeerEnding, AServiceAndAWorkerWithoutTimeoutNeverExpire) {
  for (const auto& timeout : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const PeerExitRule ending(timeout, 0);
    EXPECT_EQ(ending.deadline_ms(), std::nullopt);
    EXPECT_EQ(ending.verdict(kLong), std::nullopt);
  }
}

TEST(PeerEnding, AWorkerWhoseLauncherIsGoneWaitsAMinute) {
  constexpr std::int64_t kHour = 3'600'000;
  PeerExitRule ending(kHour, 0);
  ending.set_open(1, 1000);
  ending.set_launcher_gone(true, 5000);
  EXPECT_EQ(ending.deadline_ms(), std::nullopt) << "a session is the launcher's";
  ending.set_open(0, 9000);
  EXPECT_EQ(ending.verdict(9000 + 59'999), std::nullopt);
  EXPECT_EQ(ending.verdict(9000 + 60'000), (PeerExit{69, Why::kLauncherGone}));
}

TEST(PeerEnding, TheMinuteCountsFromTheLossOfTheLauncher) {
  PeerExitRule ending(kLong, 0);
  ending.set_launcher_gone(true, 500'000);
  ending.set_launcher_gone(true, 510'000);
  EXPECT_EQ(ending.deadline_ms(), 560'000);
  EXPECT_EQ(ending.verdict(559'999), std::nullopt);
}

TEST(PeerEnding, ALauncherThatIsBackHasAllItsTime) {
  PeerExitRule ending(kLong, 0);
  ending.set_launcher_gone(true, 500'000);
  ending.set_launcher_gone(false, 520'000);
  EXPECT_EQ(ending.deadline_ms(), kLong);
  ending.set_launcher_gone(true, 530'000);
  EXPECT_EQ(ending.deadline_ms(), 590'000);
}

TEST(PeerEnding, AShorterTimeoutStaysAndNoneIsForEver) {
  PeerExitRule shorter(2000, 0);
  shorter.set_launcher_gone(true, 1000);
  EXPECT_EQ(shorter.verdict(2000), (PeerExit{69, Why::kNoLauncher}));
  PeerExitRule none(0, 0);
  none.set_launcher_gone(true, 1000);
  EXPECT_EQ(none.deadline_ms(), std::nullopt);
}

TEST(PeerEnding, AfterTheMessageItEndsWithTheSessionsOrWithoutThem) {
  PeerExitRule ending(kTimeout, 0);
  ending.set_open(1, 0);
  ending.notify(3, 1000);
  EXPECT_EQ(ending.verdict(1999), std::nullopt);
  EXPECT_EQ(ending.verdict(2000), (PeerExit{3, Why::kNotified}));
  ending.set_open(0, 1100);
  EXPECT_EQ(ending.verdict(1100), (PeerExit{3, Why::kNotified}));
}

TEST(PeerEnding, TheFirstMessageCounts) {
  PeerExitRule ending(kTimeout, 0);
  ending.notify(3, 0);
  ending.notify(0, 0);
  EXPECT_EQ(ending.verdict(0), (PeerExit{3, Why::kNotified}));
}

TEST(PeerEnding, ASignalEndsItAtOnceWhenNothingIsOpen) {
  PeerExitRule ending(kTimeout, 0);
  ending.stop(SIGTERM, 50);
  EXPECT_EQ(ending.verdict(50), (PeerExit{128 + SIGTERM, Why::kStopped}));
}

TEST(PeerEnding, ASignalWaitsForOpenSessionsAndThenForTheMessage) {
  PeerExitRule ending(kTimeout, 0);
  ending.set_open(1, 0);
  ending.stop(SIGINT, 50);
  EXPECT_EQ(ending.verdict(kLong), std::nullopt);
  ending.set_open(0, 7000);
  EXPECT_EQ(ending.verdict(7999), std::nullopt);
  EXPECT_EQ(ending.verdict(8000), (PeerExit{128 + SIGINT, Why::kStopped}));
  ending.notify(1, 7500);
  EXPECT_EQ(ending.verdict(7500), (PeerExit{1, Why::kNotified}));
}

TEST(PeerEnding, TheFirstSignalCounts) {
  PeerExitRule ending(kTimeout, 0);
  ending.set_open(1, 0);
  ending.stop(SIGTERM, 0);
  ending.stop(SIGINT, 1);
  ending.set_open(0, 2);
  EXPECT_EQ(ending.verdict(2 + sshd::kLingerMs), (PeerExit{128 + SIGTERM, Why::kStopped}));
}

TEST(PeerEnding, AServiceWaitsForNobody) {
  PeerExitRule ending(std::nullopt, 0);
  ending.set_open(1, 0);
  ending.stop(SIGTERM, 0);
  EXPECT_EQ(ending.verdict(0), (PeerExit{128 + SIGTERM, Why::kStopped}));
}

using Kind = sshd::SessionCommand::Kind;

TEST(PeerSession, KnowsItsThreeWords) {
  EXPECT_EQ(sshd::parse_session_command("trainit-peer-ping")->kind, Kind::kPing);
  EXPECT_EQ(sshd::parse_session_command(" trainit-peer-ping\n")->kind, Kind::kPing);
  const auto end = sshd::parse_session_command("trainit-peer-end 137");
  EXPECT_EQ(end->kind, Kind::kEnd);
  EXPECT_EQ(end->exit_code, 137);
  const auto gone = sshd::parse_session_command("trainit-peer-launcher gone");
  EXPECT_EQ(gone->kind, Kind::kLauncher);
  EXPECT_TRUE(gone->gone);
  EXPECT_FALSE(sshd::parse_session_command("trainit-peer-launcher back")->gone);
}

TEST(PeerSession, RunsEverythingElse) {
  for (const char* text : {"", "orted -mca x", "echo trainit-peer-ping", "trainit-peer-pings",
                           "trainit-peer-ping; id", "trainit-peer-ended 0"}) {
    EXPECT_EQ(sshd::parse_session_command(text)->kind, Kind::kRun) << text;
  }
}

TEST(PeerSession, RefusesAnEndWithoutAnExitCode) {
  for (const char* text : {"trainit-peer-end", "trainit-peer-end x", "trainit-peer-end -1",
                           "trainit-peer-end 256", "trainit-peer-end 1 2", "trainit-peer-end 1;"}) {
    EXPECT_FALSE(sshd::parse_session_command(text)) << text;
  }
}

TEST(PeerSession, RefusesALauncherThatIsNeitherGoneNorBack) {
  for (const char* text : {"trainit-peer-launcher", "trainit-peer-launcher gone;"}) {
    EXPECT_FALSE(sshd::parse_session_command(text)) << text;
  }
}

TEST(PeerSession, GivesTheWholeCommandToTheUsersShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(sshd::shell_argv("/bin/zsh", "cd /x;  run 'a b'"),
            (Words{"/bin/zsh", "-c", "cd /x;  run 'a b'"}));
  EXPECT_EQ(sshd::shell_argv("", "x"), (Words{"/bin/sh", "-c", "x"}));
  EXPECT_EQ(sshd::shell_argv("/bin/bash", ""), (Words{"/bin/bash", "-l"})) << "to look around";
}

}  // namespace
