#include "init/engine/tasks/signal_rules.h"

#include <gtest/gtest.h>

#include <csignal>

namespace engine {
namespace {

using base::SignalRule;
using Kind = SignalRule::Kind;

// "stop 15 2", "forward 12", ...
std::string text(const Meaning& meaning) {
  if (const auto* stop = std::get_if<Stop>(&meaning)) {
    return "stop " + std::to_string(stop->signal) + " " + std::to_string(stop->sent);
  }
  if (const auto* forward = std::get_if<Forward>(&meaning)) {
    return "forward " + std::to_string(forward->signal);
  }
  if (const auto* touch = std::get_if<Touch>(&meaning)) return "touch " + touch->path;
  return std::holds_alternative<Save>(meaning) ? "save" : "drop";
}

std::string meaning(int signal, const std::vector<SignalRule>& rules) {
  return text(meaning_of(signal, rules, signal == SIGTERM || signal == SIGINT));
}

TEST(SignalRules, WithoutOneASignalIsWhatItIs) {
  EXPECT_EQ(meaning(SIGTERM, {}), "stop 15 15");
  EXPECT_EQ(meaning(SIGUSR1, {}), "forward 10");
  EXPECT_EQ(meaning(SIGUSR1, {{SIGUSR2, Kind::kNothing}}), "forward 10");
}

// As an image has them that inherits the STOPSIGNAL of nginx or systemd.
TEST(SignalRules, QuitAndTheRealTimeSignalOfSystemdStop) {
  for (const int signal : {SIGQUIT, SIGRTMIN + 3}) {
    EXPECT_TRUE(asks_to_stop(signal, false));
    const std::string number = std::to_string(signal);
    EXPECT_EQ(text(meaning_of(signal, {}, true)), "stop " + number + " 15");
    EXPECT_EQ(text(meaning_of(signal, {{signal, Kind::kForward}}, true)), "forward " + number);
    EXPECT_EQ(text(meaning_of(signal, {{signal, Kind::kSignal, signal}}, true)),
              "stop " + number + " " + number);
  }
  EXPECT_FALSE(asks_to_stop(SIGHUP, false));
  EXPECT_TRUE(asks_to_stop(SIGHUP, true));
}

TEST(SignalRules, AnEndByASignalFromOutsideIsToldFromOthers) {
  using lifecycle::ExitStatus;
  const std::uint64_t came = lifecycle::signal_bit(SIGHUP) | lifecycle::signal_bit(SIGUSR2);
  EXPECT_EQ(forwarded_end({ExitStatus::How::kSignaled, SIGHUP}, came), SIGHUP);
  EXPECT_EQ(forwarded_end({ExitStatus::How::kExited, 128 + SIGUSR2}, came), SIGUSR2);
  for (const ExitStatus& other :
       {ExitStatus{ExitStatus::How::kSignaled, SIGSEGV},
        ExitStatus{ExitStatus::How::kExited, SIGHUP}, ExitStatus{ExitStatus::How::kExited, 0},
        ExitStatus{ExitStatus::How::kExited, 255}, ExitStatus{ExitStatus::How::kExited, 128},
        ExitStatus{ExitStatus::How::kNotStarted, 128 + SIGHUP}}) {
    EXPECT_EQ(forwarded_end(other, came), 0);
  }
}

TEST(SignalRules, AStopRequestUnderAnotherNameStaysOne) {
  EXPECT_EQ(meaning(SIGTERM, {{SIGTERM, Kind::kSignal, SIGINT}}), "stop 15 2");
  EXPECT_EQ(meaning(SIGTERM, {{SIGTERM, Kind::kSignal, SIGUSR1}}), "stop 15 10");
}

TEST(SignalRules, WhatBecomesAStopSignalStops) {
  EXPECT_EQ(meaning(SIGUSR1, {{SIGUSR1, Kind::kSignal, SIGTERM}}), "stop 15 15");
  EXPECT_EQ(meaning(SIGUSR1, {{SIGUSR1, Kind::kSignal, SIGINT}}), "stop 2 2");
}

TEST(SignalRules, AnyOtherIsSentUnderItsNewName) {
  EXPECT_EQ(meaning(SIGUSR1, {{SIGUSR1, Kind::kSignal, SIGUSR2}}), "forward 12");
}

TEST(SignalRules, AStopSignalThatIsForwardedStopsNothing) {
  const std::vector<SignalRule> rules = {{SIGINT, Kind::kForward}};
  EXPECT_EQ(meaning(SIGINT, rules), "forward 2");
  EXPECT_EQ(meaning(SIGTERM, rules), "stop 15 15");
}

TEST(SignalRules, MakeACheckpointAFileOrNothing) {
  const std::vector<SignalRule> rules = {{SIGTERM, Kind::kCheckpoint},
                                         {SIGUSR1, Kind::kFile, 0, "/run/stop"},
                                         {SIGINT, Kind::kNothing}};
  EXPECT_EQ(meaning(SIGTERM, rules), "save");
  EXPECT_EQ(meaning(SIGUSR1, rules), "touch /run/stop");
  EXPECT_EQ(meaning(SIGINT, rules), "drop");
}

}  // namespace
}  // namespace engine
