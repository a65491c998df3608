// Rows of forwarding.

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <array>
#include <memory>
#include <string>

#include "tests/behaviour/rows.h"

namespace behaviour {
namespace {

// glibc keeps 32 and 33 for itself; SIGCHLD is the init's own.
bool can_be_forwarded(int signal) {
  return signal != SIGKILL && signal != SIGSTOP && signal != SIGCHLD && signal != 32 &&
         signal != 33;
}

// After one of them an init may end what does not end by itself.
bool asks_to_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGRTMIN + 3;
}

std::string line_of(int signal) { return "signal " + std::to_string(signal) + " "; }

struct Recorder {
  std::unique_ptr<Contained> init;
  pid_t child = -1;
};

Recorder start_recorder(const Init& init) {
  const Words line = command_line(init, payload({"print-signals"}));
  auto contained = std::make_unique<Contained>(line, Setup{});
  contained->await("ready\n");
  const pid_t child = contained->child();
  return {std::move(contained), child};
}

enum class Fate : unsigned char { kForwarded, kDropped, kDied };

// A signal of a higher number follows: what is pending comes in the order of the numbers, so its
// coming says that the first will not. An init that makes a SIGSTOP of the first stops the child,
// which is set going again from here.
Fate fate_of(const Recorder& recorder, int signal) {
  constexpr std::int64_t kLookMs = 20;
  const int marker = SIGRTMAX;
  recorder.init->signal(signal);
  if (signal != marker) recorder.init->signal(marker);
  for (std::int64_t left_ms = kPatienceMs; left_ms > 0; left_ms -= kLookMs) {
    if (const auto before = recorder.init->await_until(line_of(marker), kLookMs)) {
      const bool came = signal == marker || before->find(line_of(signal)) != std::string::npos;
      return came ? Fate::kForwarded : Fate::kDropped;
    }
    if (recorder.init->wait(0)) return Fate::kDied;
    if (recorder.child > 0 && state_of(recorder.child) == 'T') ::kill(recorder.child, SIGCONT);
  }
  return Fate::kDropped;
}

void add(std::string& list, int signal) {
  list += (list.empty() ? "" : ", ") + std::to_string(signal);
}

}  // namespace

std::string forwarded_signals(const Init& init) {
  std::string dropped;
  std::string deadly;
  Recorder recorder = start_recorder(init);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (!can_be_forwarded(signal)) continue;
    const Fate fate = fate_of(recorder, signal);
    if (fate == Fate::kDropped) add(dropped, signal);
    if (fate == Fate::kDied) add(deadly, signal);
    if (fate == Fate::kDied || asks_to_stop(signal)) recorder = start_recorder(init);
  }
  if (dropped.empty() && deadly.empty()) return "all forwarded";
  return (dropped.empty() ? "" : "not [" + dropped + "]") +
         (deadly.empty() ? "" : " died of [" + deadly + "]");
}

std::string queued_value(const Init& init) {
  Contained contained(command_line(init, payload({"queue-to-parent"})), {});
  return contained.rest_of_line();
}

std::string burst(const Init& init) {
  constexpr int kQueued = 200;
  constexpr std::array kStandard = {SIGHUP,  SIGUSR1, SIGUSR2,   SIGPIPE, SIGALRM,
                                    SIGCONT, SIGURG,  SIGVTALRM, SIGPROF, SIGWINCH};
  const Recorder recorder = start_recorder(init);
  const int queued = SIGRTMIN + 2;
  for (int value = 0; value < kQueued; ++value) recorder.init->queue(queued, value);
  for (int signal : kStandard) recorder.init->signal(signal);
  recorder.init->signal(SIGRTMAX);
  const std::string seen = recorder.init->await_until(line_of(SIGRTMAX)).value_or("");
  const auto times = [&seen](int signal) {
    int count = 0;
    const std::string line = line_of(signal);
    for (auto at = seen.find(line); at != std::string::npos; at = seen.find(line, at + 1)) ++count;
    return count;
  };
  int standard = 0;
  for (int signal : kStandard) standard += times(signal) == 1 ? 1 : 0;
  return std::to_string(times(queued)) + "/" + std::to_string(kQueued) + "; " +
         std::to_string(standard) + "/" + std::to_string(kStandard.size());
}

// The child dies of the first signal that reaches it. A later one, of a higher number, comes after
// the init is set up: when it is the one that kills, the TERM is lost.
std::string term_during_start(const Init& init) {
  constexpr int kRounds = 60;
  constexpr long kStepNs = 50'000;
  int lost = 0;
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  for (int round = 0; round < kRounds; ++round) {
    Contained contained(command_line(init, payload({"print-signals", "TERM", "64"})), {});
    contained.await_exec();
    // Not by spinning, which would keep the init from its processor.
    const timespec delay{0, round * kStepNs};
    ::nanosleep(&delay, nullptr);
    contained.signal(SIGTERM);
    contained.await("ready\n");
    contained.signal(SIGRTMAX);
    if (contained.wait() != 128 + SIGTERM) ++lost;
  }
  return std::to_string(lost) + "/" + std::to_string(kRounds);
}

std::string stray_sigchld(const Init& init) {
  constexpr int kTimes = 50;
  const Recorder recorder = start_recorder(init);
  for (int time = 0; time < kTimes; ++time) recorder.init->signal(SIGCHLD);
  return fate_of(recorder, SIGWINCH) == Fate::kForwarded ? "ok" : "NO";
}

}  // namespace behaviour
