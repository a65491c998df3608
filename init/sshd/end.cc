#include "init/sshd/end.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "base/peer_protocol.h"
#include "base/printed_text.h"
#include "base/text.h"
#include "init/proc/child_run.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"
#include "init/sshd/keys.h"
#include "init/sshd/session.h"
#include "init/sshd/tool.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace sshd {
namespace {

constexpr std::size_t kMaxCalls = 32;
constexpr int kCallTimeoutS = 5;
constexpr std::int64_t kCallTimeoutMs = 5000;
constexpr std::int64_t kFirstPauseMs = 300;  // longer than sshd needs to start again after a kill
constexpr std::int64_t kMaxPauseMs = 2000;

struct Call {
  std::string host;
  std::int64_t not_before_ms = 0;
  std::int64_t pause_ms = kFirstPauseMs;  // pause before the next call
  std::string reason;                     // why the last call failed; "" before the first call
  std::unique_ptr<proc::ChildRun> run;
};

class Caller {
 public:
  Caller(const EndOptions& options, const base::Environ& env, proc::SavedSignals saved)
      : options_(options), env_(tool_environ(env)), saved_(saved) {}

  base::Status run(const std::vector<std::string>& hosts);

 private:
  void fill();
  void ask_link();
  void start(Call call);
  void wait();
  void collect();
  void ended(Call call);
  bool stop_requested();
  [[nodiscard]] base::Status report(std::size_t hosts) const;
  void again(const Call& call, std::string reason);
  void missed(const Call& call, const std::string& reason);

  const EndOptions& options_;
  base::Environ env_;
  proc::SavedSignals saved_;
  proc::SignalSource signals_;
  std::deque<Call> waiting_;  // sorted by Call::not_before_ms
  std::vector<Call> running_;
  std::int64_t link_asked_ms_ = 0;
  std::vector<std::string> missed_;
  std::string reason_;  // why the first host was not reached
};

base::Status Caller::run(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    Call first;
    first.host = host;
    waiting_.push_back(std::move(first));
  }
  ask_link();
  while (true) {
    fill();
    if (running_.empty() && waiting_.empty()) break;
    wait();
    const bool stops = stop_requested();
    collect();
    if (stops) {
      for (const Call& call : running_) missed(call, "no answer before the time was over");
      for (const Call& call : waiting_) {
        missed(call, call.reason.empty() ? "not called before the time was over" : call.reason);
      }
      break;
    }
  }
  return report(hosts.size());
}

void Caller::fill() {
  const std::int64_t now = sys::monotonic_ms();
  const auto is_due = [&] { return !waiting_.empty() && waiting_.front().not_before_ms <= now; };
  // Asks the link again: the host may have received the end through it meanwhile, and have exited.
  if (is_due() && !waiting_.front().reason.empty() && now - link_asked_ms_ >= kFirstPauseMs) {
    ask_link();
  }
  while (running_.size() < kMaxCalls && is_due()) {
    Call next = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(next));
  }
}

void Caller::ask_link() {
  if (!options_.ask_link) return;
  const LinkedHosts linked = options_.ask_link();
  link_asked_ms_ = sys::monotonic_ms();
  std::erase_if(waiting_, [&](const Call& call) {
    if (linked.told.contains(call.host)) return true;
    const bool given_up = !call.reason.empty() && linked.lost.contains(call.host);
    if (given_up) missed(call, call.reason);
    return given_up;
  });
}

void Caller::start(Call call) {
  const std::string command =
      std::string(base::kPeerEnd) + " " + std::to_string(options_.exit_code);
  proc::SpawnSpec spec;
  spec.argv = client_argv(options_.port, options_.key, kCallTimeoutS, call.host, command);
  spec.env = env_;
  const proc::RunLimits limits{
      .time_ms = kCallTimeoutMs, .linger_ms = kCallTimeoutMs, .keeps_group = true};
  auto run = proc::ChildRun::start(limits, std::move(spec), &saved_);
  if (!run) return again(call, to_line(run.error()));
  call.run = std::make_unique<proc::ChildRun>(std::move(*run));
  running_.push_back(std::move(call));
}

void Caller::wait() {
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  if (!waiting_.empty() && running_.size() < kMaxCalls) {
    until = std::min(until, waiting_.front().not_before_ms);
  }
  for (const Call& call : running_) until = std::min(until, call.run->next_look_ms());
  std::array ready{signals_.source()};
  const std::int64_t left = std::max<std::int64_t>(until - sys::monotonic_ms(), 0);
  signals_.wait(ready, left);
}

bool Caller::stop_requested() {
  proc::SignalSource::Room room;
  return std::ranges::any_of(signals_.read(room), [](const proc::Received& received) {
    return received.signal == SIGTERM || received.signal == SIGINT || received.signal == SIGHUP ||
           received.signal == SIGQUIT;
  });
}

void Caller::collect() {
  for (std::size_t i = 0; i < running_.size();) {
    if (!running_[i].run->step()) {
      ++i;
      continue;
    }
    Call call = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    ended(std::move(call));
  }
}

void Caller::ended(Call call) {
  const int code = call.run->exit_code();
  if (code == 0) return;
  const auto failure = call.run->start_failure();
  std::string reason = call.run->cut_short();
  if (failure) reason = to_line(failure->error);
  if (reason.empty()) reason = base::last_line(call.run->output());
  again(call, reason.empty() ? "exit code " + std::to_string(code) : std::move(reason));
}

void Caller::again(const Call& call, std::string reason) {
  Call next;
  next.host = call.host;
  next.not_before_ms = sys::monotonic_ms() + call.pause_ms;
  next.pause_ms = std::min(call.pause_ms * 2, kMaxPauseMs);
  next.reason = std::move(reason);
  const auto at = std::ranges::upper_bound(waiting_, next.not_before_ms, {}, &Call::not_before_ms);
  waiting_.insert(at, std::move(next));
}

void Caller::missed(const Call& call, const std::string& reason) {
  if (missed_.empty()) reason_ = call.host + ": " + reason;
  missed_.push_back(call.host);
}

base::Status Caller::report(std::size_t hosts) const {
  constexpr std::size_t kShown = 16;
  if (missed_.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, missed_.size()); ++i) {
    names += (i == 0 ? "" : ", ") + missed_[i];
  }
  if (missed_.size() > kShown) {
    names += " and " + std::to_string(missed_.size() - kShown) + " more";
  }
  return base::fail(
      "telling the workers that the job ended with " + std::to_string(options_.exit_code), names,
      std::to_string(missed_.size()) + " of " + std::to_string(hosts) +
          " that could not be told (" + reason_ + ")",
      "they end by themselves when they are stopped or after their "
      "--launcher-timeout");
}

bool can_be_called(const std::string& host) { return !host.starts_with('-'); }

}  // namespace

base::Status end(const EndOptions& options, const base::Environ& env) {
  const proc::SavedSignals saved = proc::take_over_signals();
  const envgen::PathState file = sys::inspect(options.hosts_file, true);
  if (file.kind != envgen::PathState::Kind::kFile) {
    return base::fail("reading the workers' names", options.hosts_file, "no file that can be read",
                      "the plan writes it");
  }
  const std::vector<std::string> hosts = parse_hosts(file.content);
  if (const auto bad = std::ranges::find_if_not(hosts, can_be_called); bad != hosts.end()) {
    return base::fail("reading the workers' names", options.hosts_file,
                      base::quoted(*bad) + ", which looks like an option", "write host names only");
  }
  if (find_program("ssh", env).empty()) return std::unexpected(not_installed("ssh"));
  EndOptions own = options;
  if (!own.key.empty()) {
    const Paths paths(options.directory);
    // The copy of the key, which this node's serve usually makes. If it has failed, this process
    // makes it.
    const bool there = sys::inspect(paths.key, false).kind == envgen::PathState::Kind::kFile;
    if (there || copy_key(paths, options.key)) own.key = paths.key;
  }
  return Caller(own, env, saved).run(hosts);
}

}  // namespace sshd
