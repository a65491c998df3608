#include "init/engine/cluster/peers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "base/peer_words.h"
#include "base/stable_sort.h"
#include "init/proc/reap.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {
namespace {

constexpr std::size_t kMostAttempts = 32;  // at a time
constexpr std::int64_t kFirstPauseMs = 200;
constexpr std::int64_t kMostPauseMs = 5000;
constexpr std::int64_t kSayMs = 2000;
// A death shows as the end of the output, but for a client that left something behind that holds
// it: then it is seen this much later.
constexpr std::int64_t kLookMs = 50;
constexpr std::size_t kMostNames = 8;
constexpr std::size_t kMostLineBytes = 300;

struct Peer {
  std::string host;
  bool answered = false;
  std::int64_t next_ms = 0;  // when to ask again
  std::int64_t pause_ms = kFirstPauseMs;
  std::string complaint;  // of the last attempt; "" while none has ended
};

// One run of the ssh client.
struct Attempt {
  Peer* peer = nullptr;
  pid_t pid = -1;
  std::int64_t deadline_ms = 0;
  bool killed = false;  // at its deadline
  sys::Fd start_pipe;
  sys::Fd output;
  std::string last_line;
  std::string line;
};

// Keeps the last line that is not empty, of what is there to read; of one turn not without end.
void read_output(Attempt& attempt) {
  constexpr int kMostReads = 16;
  std::array<char, 4096> part;
  for (int reads = 0; reads < kMostReads && attempt.output.valid(); ++reads) {
    const ssize_t count = ::read(attempt.output.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      attempt.output.reset();
      return;
    }
    for (const char c : std::string_view(part.data(), static_cast<std::size_t>(count))) {
      if (c != '\n' && c != '\r') {
        if (attempt.line.size() < kMostLineBytes) attempt.line += c;
        continue;
      }
      if (!attempt.line.empty()) attempt.last_line = std::move(attempt.line);
      attempt.line.clear();
    }
  }
}

class PeerWaiting {
 public:
  PeerWaiting(const envgen::PeerWait& wait, const envgen::Environ& env,
              const proc::SavedSignals& saved, const std::function<void(const std::string&)>& say,
              std::int64_t attempt_ms)
      : wait_(wait), env_(env), say_(say), attempt_ms_(attempt_ms), saved_(saved) {
    for (const std::string& host : wait.hosts) {
      peers_.push_back({.host = host, .complaint = {}});
    }
  }
  PeerWaiting(const PeerWaiting&) = delete;
  PeerWaiting& operator=(const PeerWaiting&) = delete;
  ~PeerWaiting() {
    for (const Attempt& attempt : attempts_) kill_session(attempt);
  }

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

  // Those whose turn came first are first, so that hosts that never answer do not keep the others
  // from being asked.
  void start_attempts(std::int64_t now_ms) {
    std::vector<Peer*> due;
    for (Peer& peer : peers_) {
      if (!peer.answered && peer.next_ms <= now_ms && !asked(peer)) due.push_back(&peer);
    }
    envgen::stable_sort(due, std::less(), &Peer::next_ms);
    for (Peer* peer : due) {
      if (attempts_.size() >= kMostAttempts) return;
      start(*peer, now_ms);
    }
  }

  void start(Peer& peer, std::int64_t now_ms) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return again(peer, sys::errno_text(errno));
    }
    Attempt attempt;
    attempt.peer = &peer;
    attempt.deadline_ms = now_ms + attempt_ms_;
    attempt.output.reset(ends[0]);
    const sys::Fd write_end(ends[1]);
    ::fcntl(attempt.output.get(), F_SETFL, O_NONBLOCK);
    proc::SpawnSpec spec;
    spec.argv = wait_.probe;
    spec.argv.push_back(peer.host);
    spec.argv.emplace_back(envgen::kPeerPing);
    spec.env = env_;
    spec.no_input = true;
    spec.output_fd = write_end.get();
    spec.new_session = true;  // it cannot ask for a password at the terminal either
    spec.die_with_parent = true;
    auto spawned = proc::spawn(spec, saved_);
    if (!spawned) return again(peer, to_line(spawned.error()));  // a limit: others may end
    attempt.pid = spawned->pid;
    attempt.start_pipe = std::move(spawned->start_pipe);
    attempts_.push_back(std::move(attempt));
  }

  void await(std::int64_t left_ms) const {
    std::vector<pollfd> waits;
    for (const Attempt& attempt : attempts_) {
      if (attempt.output.valid()) waits.push_back({attempt.output.get(), POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp(left_ms, 1L, kLookMs)));
  }

  std::optional<PeerFailure> look_at_attempts() {
    const std::int64_t now_ms = sys::monotonic_ms();
    for (std::size_t i = 0; i < attempts_.size();) {
      Attempt& attempt = attempts_[i];
      read_output(attempt);
      proc::StartFailure failure;
      if (attempt.start_pipe.valid()) {
        const auto state = proc::read_start(attempt.start_pipe, &failure);
        if (state == proc::StartState::kFailed) return no_client(failure);
        if (state == proc::StartState::kRunning) attempt.start_pipe.reset();
      }
      siginfo_t info = {};
      const bool ended =
          proc::wait_id(P_PID, static_cast<id_t>(attempt.pid), &info, WEXITED | WNOHANG) == 0 &&
          info.si_pid == attempt.pid;
      if (ended) {
        read_output(attempt);
        finish(attempt, info);
        attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      // Reaped like any other, when it dies: in D state it may not.
      if (now_ms >= attempt.deadline_ms && !std::exchange(attempt.killed, true)) {
        kill_session(attempt);
      }
      ++i;
    }
    return std::nullopt;
  }

  void finish(const Attempt& attempt, const siginfo_t& info) {
    const bool exited = info.si_code == CLD_EXITED;
    if (exited && info.si_status == 0) {
      attempt.peer->answered = true;
      return;
    }
    std::string text = attempt.line.empty() ? attempt.last_line : attempt.line;
    if (attempt.killed) {
      text = "no answer within " + std::to_string(attempt_ms_ / 1000) + " s";
    } else if (text.empty()) {
      text = wait_.probe[0] + (exited ? " exited with code " : " was killed by signal ") +
             std::to_string(info.si_status);
    }
    again(*attempt.peer, std::move(text));
  }

  static void again(Peer& peer, std::string complaint) {
    peer.complaint = std::move(complaint);
    peer.next_ms = sys::monotonic_ms() + peer.pause_ms;
    peer.pause_ms = std::min(peer.pause_ms * 3 / 2, kMostPauseMs);
  }

  // The whole session: a proxy command of the client too.
  static void kill_session(const Attempt& attempt) {
    ::kill(-attempt.pid, SIGKILL);
    ::kill(attempt.pid, SIGKILL);  // it may not have made its session yet
  }

  [[nodiscard]] std::string missing_names() const {
    std::string text;
    std::size_t count = 0;
    for (const Peer& peer : peers_) {
      if (peer.answered) continue;
      if (++count > kMostNames) continue;
      if (count > 1) text += ", ";
      text += peer.host;
    }
    if (count > kMostNames) text += " and " + std::to_string(count - kMostNames) + " more";
    return text;
  }

  // Of the first that has complained: "node-5: ssh: Connection refused".
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
    envgen::Error error = failure.error;
    error.what = "waiting for the peers' sshd: " + error.what;
    error.fix = "install an ssh client in the image (openssh-client)";
    return {exit_code::kOwnFailure, std::move(error)};
  }

  const envgen::PeerWait& wait_;
  const envgen::Environ& env_;
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

std::optional<PeerFailure> wait_for_peers(const envgen::PeerWait& wait, const envgen::Environ& env,
                                          const proc::SavedSignals& saved,
                                          const std::function<void(const std::string&)>& say,
                                          std::int64_t attempt_ms) {
  return PeerWaiting(wait, env, saved, say, attempt_ms).run();
}

}  // namespace engine
