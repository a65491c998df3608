#include "init/engine/cluster/peers.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "base/peer_protocol.h"
#include "base/printed_text.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "init/proc/child_run.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::size_t kMaxAttempts = 32;  // ssh clients that run at a time
constexpr std::int64_t kFirstPauseMs = 200;
constexpr std::int64_t kMaxPauseMs = 5000;
constexpr std::int64_t kSayMs = 2000;
// The interval of looks at the running clients. The end of a client's output normally shows its
// exit at once. If a process that the client left behind holds the output open, only a look shows
// it.
constexpr std::int64_t kLookMs = 50;
constexpr std::size_t kMaxNames = 8;
constexpr std::size_t kMaxBytes = 1U << 20;  // limit of the output of one client

struct Peer {
  std::string host;
  bool answered = false;
  std::int64_t next_ms = 0;  // time of the next attempt
  std::int64_t pause_ms = kFirstPauseMs;
  std::string complaint;  // error of the last attempt; "": none has failed yet
};

// One run of the ssh client for a peer.
struct Attempt {
  Peer* peer = nullptr;
  std::unique_ptr<proc::ChildRun> run;
};

class PeerWaiting {
 public:
  PeerWaiting(const envgen::PeerWait& wait, const base::Environ& env,
              const proc::SavedSignals& saved, const std::function<void(const std::string&)>& say,
              std::int64_t attempt_ms)
      : wait_(wait), env_(env), say_(say), attempt_ms_(attempt_ms), saved_(saved) {
    for (const std::string& host : wait.hosts) {
      peers_.push_back({.host = host, .complaint = {}});
    }
  }
  PeerWaiting(const PeerWaiting&) = delete;
  PeerWaiting& operator=(const PeerWaiting&) = delete;

  std::optional<PeerFailure> run() {
    while (missing() > 0) {
      const std::int64_t now_ms = sys::monotonic_ms();
      if (now_ms - start_ms_ >= wait_.timeout_ms) return timed_out();
      start_attempts(now_ms);
      await(start_ms_ + wait_.timeout_ms - now_ms);
      if (auto failure = look_at_attempts()) return failure;
      say_what_is_missing();
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t missing() const {
    return static_cast<std::size_t>(std::ranges::count(peers_, false, &Peer::answered));
  }

  [[nodiscard]] bool asked(const Peer& peer) const {
    return std::ranges::any_of(attempts_, [&](const auto& one) { return one.peer == &peer; });
  }

  // Starts attempts in the order in which their hosts became due. So hosts that never answer do not
  // prevent others from being asked.
  void start_attempts(std::int64_t now_ms) {
    std::vector<Peer*> due;
    for (Peer& peer : peers_) {
      if (!peer.answered && peer.next_ms <= now_ms && !asked(peer)) due.push_back(&peer);
    }
    base::stable_sort(due, std::less(), &Peer::next_ms);
    for (Peer* peer : due) {
      if (attempts_.size() >= kMaxAttempts) return;
      start(*peer);
    }
  }

  void start(Peer& peer) {
    proc::SpawnSpec spec;
    spec.argv = wait_.probe;
    spec.argv.push_back(peer.host);
    spec.argv.emplace_back(base::kPeerPing);
    spec.env = env_;
    const proc::RunLimits limits{.time_ms = attempt_ms_,
                                 .most_bytes = kMaxBytes,
                                 .linger_ms = attempt_ms_,
                                 .keeps_group = true};
    auto run = proc::ChildRun::start(limits, std::move(spec), &saved_);
    // A limit was reached, so try again when others have ended.
    if (!run) return again(peer, to_line(run.error()));
    attempts_.push_back({&peer, std::make_unique<proc::ChildRun>(std::move(*run))});
  }

  // Waits for any of the attempts; ChildRun::wait() waits for one only.
  void await(std::int64_t left_ms) const {
    std::vector<pollfd> waits;
    waits.reserve(attempts_.size());
    for (const Attempt& attempt : attempts_) waits.push_back({attempt.run->fd(), POLLIN, 0});
    ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp(left_ms, 1L, kLookMs)));
  }

  std::optional<PeerFailure> look_at_attempts() {
    for (std::size_t i = 0; i < attempts_.size();) {
      const Attempt& attempt = attempts_[i];
      const bool over = attempt.run->step();
      if (const auto failure = attempt.run->start_failure()) return no_client(*failure);
      if (!over) {
        ++i;
        continue;
      }
      finish(attempt);
      attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return std::nullopt;
  }

  void finish(const Attempt& attempt) {
    proc::ChildRun& run = *attempt.run;
    run.end(kLookMs);
    const int code = run.exit_code();
    if (code == 0) {
      attempt.peer->answered = true;
      return;
    }
    std::string text = run.cut_short();
    if (text.empty()) text = base::last_line(run.output());
    if (text.empty()) text = wait_.probe[0] + " exited with code " + std::to_string(code);
    again(*attempt.peer, std::move(text));
  }

  static void again(Peer& peer, std::string complaint) {
    peer.complaint = std::move(complaint);
    peer.next_ms = sys::monotonic_ms() + peer.pause_ms;
    peer.pause_ms = std::min(peer.pause_ms * 3 / 2, kMaxPauseMs);
  }

  [[nodiscard]] std::string missing_names() const {
    std::string text;
    std::size_t count = 0;
    for (const Peer& peer : peers_) {
      if (peer.answered) continue;
      if (++count > kMaxNames) continue;
      if (count > 1) text += ", ";
      text += peer.host;
    }
    if (count > kMaxNames) text += " and " + std::to_string(count - kMaxNames) + " more";
    return text;
  }

  // Returns the error of the first missing host that has one: "node-5: ssh: Connection refused".
  [[nodiscard]] std::string complaint() const {
    for (const Peer& peer : peers_) {
      if (!peer.answered && !peer.complaint.empty()) return peer.host + ": " + peer.complaint;
    }
    return "";
  }

  void say_what_is_missing() {
    const std::size_t count = missing();
    const std::int64_t now_ms = sys::monotonic_ms();
    const bool soon = now_ms - (reason_.empty() ? start_ms_ : said_ms_) < kSayMs;
    std::string why = complaint();
    if (count == 0 || (soon && (why.empty() || !reason_.empty()))) return;
    if (why.empty()) why = "no answer yet";
    std::string reason = std::to_string(count) + " of " + std::to_string(peers_.size()) +
                         " peers (" + missing_names() + "): " + why;
    if (reason == reason_) return;
    reason_ = std::move(reason);
    said_ms_ = now_ms;
    say_(reason_);
  }

  [[nodiscard]] PeerFailure timed_out() const {
    const std::string why = complaint();
    return {exit_code::kUnavailable,
            {"waiting for the peers' sshd", missing_names(),
             std::to_string(missing()) + " of " + std::to_string(peers_.size()) +
                 " that did not answer within " + std::to_string(wait_.timeout_ms / 1000) + " s" +
                 (why.empty() ? "" : "; " + why),
             "check that these nodes started, run the same image with the same key and --ssh-port, "
             "and can be reached, or raise --peer-timeout"}};
  }

  static PeerFailure no_client(const proc::StartFailure& failure) {
    base::Error error = failure.error;
    error.what = "waiting for the peers' sshd: " + error.what;
    error.fix = "install an ssh client in the image (openssh-client)";
    return {exit_code::kOwnFailure, std::move(error)};
  }

  const envgen::PeerWait& wait_;
  const base::Environ& env_;
  const std::function<void(const std::string&)>& say_;
  std::int64_t attempt_ms_;
  const proc::SavedSignals& saved_;
  std::vector<Peer> peers_;
  std::vector<Attempt> attempts_;
  std::int64_t start_ms_ = sys::monotonic_ms();
  std::string reason_;
  std::int64_t said_ms_ = 0;
};

}  // namespace

std::optional<PeerFailure> wait_for_peers(const envgen::PeerWait& wait, const base::Environ& env,
                                          const proc::SavedSignals& saved,
                                          const std::function<void(const std::string&)>& say,
                                          std::int64_t attempt_ms) {
  return PeerWaiting(wait, env, saved, say, attempt_ms).run();
}

}  // namespace engine
