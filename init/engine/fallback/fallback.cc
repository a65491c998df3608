#include "init/engine/fallback/fallback.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/exit_codes.h"
#include "init/engine/tasks/signal_rules.h"
#include "init/proc/reap.h"
#include "init/sys/clock.h"
#include "lifecycle/task.h"

namespace engine {
namespace {

// The maximum of children that one turn reaps: a fork bomb must not keep the loop from its signals.
constexpr int kMaxDeaths = 256;

class Remaining {
 public:
  explicit Remaining(FallbackJob job) : job_(std::move(job)) {
    const int stop = job_.stop_signal;
    if (job_.failure_code != 0 || stop != 0) begin_stop(stop != 0 ? heard_as(stop).sent : 0);
  }

  // Reaps children that have exited. Returns true if there may be more.
  bool reap() {
    for (int i = 0; i < kMaxDeaths; ++i) {
      siginfo_t info = {};
      if (proc::wait_id(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return false;
      ended(info);
    }
    return true;
  }

  void received(const proc::Received& received) {
    const int signal = received.signal;
    if (signal == SIGCHLD || job_.job_control.is_ignored(received)) return;
    const Heard heard = heard_as(signal);
    const auto has_it = [&](const FallbackJob::Main& main) {
      return heard.sent == signal && job_.job_control.has_reached(main.pid, received);
    };
    if (heard.stops) {
      if (job_.stop_signal == 0 && job_.failure_code == 0) {
        job_.stop_signal = signal == SIGINT || signal == SIGTERM ? signal : heard.sent;
      }
      for (FallbackJob::Main& main : job_.mains) main.stop_sent = main.stop_sent || has_it(main);
      begin_stop(heard.sent);
      // The job gets each stop signal once, even if another one came before.
      const std::uint64_t sent = lifecycle::signal_bit(heard.sent);
      if ((std::exchange(passed_on_, passed_on_ | sent) & sent) == 0) {
        for (const FallbackJob::Main& main : job_.mains) {
          if (!has_it(main)) ::kill(main.pid, heard.sent);
        }
      }
    } else if (heard.sent == signal) {
      for (const FallbackJob::Main& main : job_.mains) {
        if (!has_it(main)) proc::forward_signal(main.pid, received);
      }
    } else if (heard.sent != 0) {
      for (const FallbackJob::Main& main : job_.mains) ::kill(main.pid, heard.sent);
    }
    job_.job_control.answered(received);
  }

  void stop_with_main() {
    if (job_.single && !job_.mains.empty()) {
      deadline_ms_ += job_.job_control.stop_with(job_.mains.front().pid);
    }
  }

  // Kills the main tasks that did not end in time. Returns true if there is nothing to wait for any
  // more: all have ended, or the time after the KILL is over.
  bool finished() {
    if (job_.mains.empty()) return true;
    if (!stopping_ || sys::monotonic_ms() < deadline_ms_) return false;
    if (killed_) return true;
    for (const FallbackJob::Main& main : job_.mains) ::kill(main.pid, SIGKILL);
    killed_ = true;
    deadline_ms_ = std::max(deadline_ms_ + job_.stop.exit_at - job_.stop.kill_at,
                            sys::monotonic_ms() + job_.stop.reap_ms);
    return false;
  }

  [[nodiscard]] std::int64_t wait_ms() const {
    if (!stopping_) return -1;
    return std::max<std::int64_t>(deadline_ms_ - sys::monotonic_ms(), 0);
  }

  [[nodiscard]] int code() const {
    if (job_.failure_code != 0) return job_.failure_code;
    if (job_.stop_signal == 0) return 0;
    if (!job_.single) return exit_code::kSignalBase + job_.stop_signal;
    return job_.mains.empty() ? last_code_ : exit_code::kSignalBase + SIGKILL;
  }

 private:
  struct Heard {
    bool stops = false;
    int sent = 0;  // signal that the job gets; 0: none
  };
  // Returns the meaning of `signal`. Unlike meaning_of() it allocates nothing, and rules that
  // request a checkpoint or a file have no effect. A stop signal with such a rule requests a stop.
  [[nodiscard]] Heard heard_as(int signal) const {
    using Kind = base::SignalRule::Kind;
    const bool stops = asks_to_stop(signal, false);
    const auto rule = std::ranges::find(job_.signals, signal, &base::SignalRule::from);
    if (rule == job_.signals.end()) return {stops, stops ? sent_to_stop(signal) : signal};
    if (rule->kind == Kind::kNothing) return {};
    if (rule->kind == Kind::kForward) return {false, signal};
    if (rule->kind != Kind::kSignal) return stops ? Heard{true, signal} : Heard{};
    return {stops || rule->to == SIGTERM || rule->to == SIGINT, rule->to};
  }

  void ended(const siginfo_t& info) {
    auto found = std::ranges::find(job_.mains, info.si_pid, &FallbackJob::Main::pid);
    if (found == job_.mains.end()) return;
    job_.mains.erase(found);
    last_code_ =
        info.si_code == CLD_EXITED ? info.si_status : exit_code::kSignalBase + info.si_status;
    if (last_code_ == 0 || stopping_) return;
    job_.failure_code = last_code_;
    begin_stop();
  }

  // Begins the stop. `sent`: the signal for the main tasks; 0: the signal of the earlier stop
  // request, or SIGTERM without one.
  void begin_stop(int sent = 0) {
    if (stopping_) return;
    stopping_ = true;
    deadline_ms_ = sys::monotonic_ms() + job_.stop.kill_at;
    const int signal = job_.stop_signal != 0 ? job_.stop_signal : SIGTERM;
    passed_on_ |= lifecycle::signal_bit(sent != 0 ? sent : signal);
    for (FallbackJob::Main& main : job_.mains) {
      if (!main.stop_sent) ::kill(main.pid, sent != 0 ? sent : signal);
      main.stop_sent = true;
    }
  }

  FallbackJob job_;
  int last_code_ = 0;
  std::uint64_t passed_on_ = 0;  // set of the stop signals that the job got (lifecycle::signal_bit)
  bool stopping_ = false;
  bool killed_ = false;
  std::int64_t deadline_ms_ = 0;  // time of the KILL; after the KILL: time at which the wait ends
};

}  // namespace

int reap_and_forward(proc::SignalSource& signals, FallbackJob job) {
  Remaining remaining(std::move(job));
  proc::SignalSource::Room room;
  while (true) {
    const bool more = remaining.reap();
    if (remaining.finished()) return remaining.code();
    remaining.stop_with_main();
    std::array sources{signals.source()};
    signals.wait(sources, more ? 0 : remaining.wait_ms());
    for (const proc::Received& received : signals.read(room)) remaining.received(received);
  }
}

}  // namespace engine
