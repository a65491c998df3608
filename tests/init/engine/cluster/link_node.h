#pragma once
// A node's link worker as a process, and the test as its PID 1.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/wire.h"
#include "init/engine/cluster/link_worker.h"
#include "init/engine/workers/messages.h"
#include "init/sys/clock.h"
#include "lifecycle/coordinator.h"
#include "tests/init/child.h"

namespace link_node {

using lifecycle::NodeFailure;
using lifecycle::NodeReport;
using lifecycle::NodeVerdict;
using Stage = NodeReport::Stage;
using State = NodeVerdict::State;

inline constexpr int kLimitMs = 180'000;

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

inline sys::Fd stream() { return sys::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

inline int bind_to(const sys::Fd& socket, int port) {
  const sockaddr_in address = loopback(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

inline int free_port() {
  const sys::Fd socket = stream();
  EXPECT_EQ(bind_to(socket, 0), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Whoever listens there may not have begun to.
inline sys::Fd connect_to(int port) {
  const sockaddr_in address = loopback(port);
  const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
  while (sys::monotonic_ms() < deadline_ms) {
    sys::Fd socket = stream();
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    ::poll(nullptr, 0, 5);
  }
  ADD_FAILURE() << "nothing listens at port " << port;
  return {};
}

inline engine::LinkSettings settings_of(int port, std::uint32_t node, std::uint32_t count) {
  engine::LinkSettings settings;
  settings.address = "127.0.0.1";
  settings.port = port;
  settings.node = node;
  settings.node_count = count;
  settings.cluster = 0xfeedULL;
  settings.instance = 0xABC0ULL + node;
  settings.names = {"a", "b", "c"};
  settings.common = "job of the test";
  return settings;
}

class Node {
 public:
  explicit Node(const engine::LinkSettings& settings, const base::Environ& env = {})
      : up_(sys::Fd(), 0, 0) {
    child::Pipe down = child::make_pipe();
    child::Pipe up = child::make_pipe();
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      // A connection of the test, or a pipe of another node, that it closes has to be closed.
      const std::array<int, 2> kept{down.out.get(), up.in.get()};
      sys::close_descriptors(3, kept);
      ::_exit(engine::run_link(settings, env, down.out.release(), up.in.release()));
    }
    down_ = std::move(down.in);
    filler_ = std::move(up.in);
    ::fcntl(up.out.get(), F_SETFL, O_NONBLOCK);
    up_ = engine::MessagePipe(std::move(up.out), engine::kLinkKinds, engine::kMaxLinkMessage);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { kill(); }

  [[nodiscard]] pid_t pid() const { return pid_; }

  void report(const NodeReport& report) {
    EXPECT_TRUE(engine::send_message(down_.get(), engine::kLinkReport, base::to_wire(report)));
  }
  // As most tests say it.
  void report(Stage stage, std::uint32_t restarts = 0) {
    NodeReport now = last_;
    if (stage == Stage::kArrived && last_.stage != Stage::kArrived) ++now.arrival;
    now.stage = stage;
    now.restarts = restarts;
    now.cluster = 0xfeedULL;
    now.may_restart = true;
    report(last_ = now);
  }
  // Runs a start that was given, and says which one, as PID 1 does.
  void run(const NodeVerdict& go) {
    last_.meeting = go.meeting;
    report(Stage::kRunning);
  }
  void fail(const std::string& message, std::int64_t age_ms = 0) {
    NodeReport now = last_;
    now.stage = Stage::kStopping;
    now.failure = NodeFailure{.age_ms = age_ms, .message = message};
    report(last_ = now);
  }
  void farewell(int code = 0) {
    NodeReport now = last_;
    now.stage = Stage::kEnded;
    now.exit_code = code;
    report(last_ = now);
  }

  // The first from now on that is so. What came before is gone.
  NodeVerdict await(const std::function<bool(const NodeVerdict&)>& is_so,
                    const std::string& what = "a verdict") {
    NodeVerdict found;
    await_message(what, [&] {
      while (!verdicts_.empty()) {
        found = std::move(verdicts_.front());
        verdicts_.pop_front();
        if (is_so(found)) return true;
      }
      return false;
    });
    return found;
  }
  NodeVerdict await(State state) {
    return await([state](const NodeVerdict& verdict) { return verdict.state == state; },
                 "a verdict of state " + std::to_string(static_cast<int>(state)));
  }
  NodeVerdict await_go(std::uint32_t arrival) {
    return await([arrival](const NodeVerdict& verdict) { return verdict.go == arrival; }, "a go");
  }
  std::string await_state(bool is_up) {
    std::string text;
    await_message(is_up ? "that it is up" : "that it is not up", [&] {
      while (!states_.empty()) {
        const engine::LinkState state = states_.front();
        states_.pop_front();
        text = state.text;
        if (state.up == is_up) return true;
      }
      return false;
    });
    return text;
  }
  std::string await_text(const std::string& part) {
    std::string text;
    await_message("\"" + part + "\"", [&] {
      while (!states_.empty()) {
        text = states_.front().text;
        states_.pop_front();
        if (text.find(part) != std::string::npos) return true;
      }
      return false;
    });
    return text;
  }
  // Of the latest state.
  std::string await_absent(const std::string& nodes) {
    await_message("that the absent nodes are \"" + nodes + "\"", [&] {
      if (!states_.empty()) absent_ = states_.back().absent;
      states_.clear();
      return absent_ == nodes;
    });
    return absent_;
  }
  std::string await_warning() {
    std::string text;
    await_message("a warning", [&] {
      if (warnings_.empty()) return false;
      text = warnings_.front();
      warnings_.pop_front();
      return true;
    });
    return text;
  }
  // What has been said so far, and was not asked for.
  std::deque<NodeVerdict>& verdicts() {
    read();
    return verdicts_;
  }
  std::deque<engine::LinkState>& states() {
    read();
    return states_;
  }
  std::deque<std::string>& warnings() {
    read();
    return warnings_;
  }

  // Fills the pipe to PID 1 with one warning, so that the worker has to wait. Returns false if the
  // pipe still has a message.
  [[nodiscard]] bool fill() const {
    const int size = ::fcntl(filler_.get(), F_SETPIPE_SZ, 4096);
    const std::size_t head = engine::message_of(engine::kLinkWarning, "").size();
    const std::string text(static_cast<std::size_t>(size) - head, 'x');
    return engine::send_message(filler_.get(), engine::kLinkWarning, text);
  }
  // Returns when it has stopped.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED);
  }
  void resume() const { ::kill(pid_, SIGCONT); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void close_down() { down_.reset(); }
  int exit_code() {
    const int code = child::wait_for(pid_);
    pid_ = -1;
    return code;
  }

 private:
  void read() {
    up_.read([this](std::uint32_t kind, std::string_view bytes) {
      if (kind == engine::kLinkVerdict) {
        auto verdict = base::from_wire<NodeVerdict>(bytes);
        EXPECT_TRUE(verdict);
        if (verdict) verdicts_.push_back(std::move(*verdict));
      } else if (kind == engine::kLinkState) {
        auto state = base::from_wire<engine::LinkState>(bytes);
        EXPECT_TRUE(state);
        if (state) states_.push_back(std::move(*state));
      } else {
        warnings_.emplace_back(bytes);
      }
      return true;
    });
  }
  void await_message(const std::string& what, const std::function<bool()>& found) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
    while (true) {
      read();
      if (found()) return;
      pollfd ready{up_.pipe().get(), POLLIN, 0};
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      if (up_.at_end() || left_ms <= 0 || ::poll(&ready, 1, static_cast<int>(left_ms)) != 1) break;
    }
    ADD_FAILURE() << "never said " << what;
  }

  pid_t pid_ = -1;
  sys::Fd down_;
  sys::Fd filler_;  // the worker's end of up_
  engine::MessagePipe up_;
  NodeReport last_;
  std::deque<NodeVerdict> verdicts_;
  std::deque<engine::LinkState> states_;
  std::string absent_ = "?";
  std::deque<std::string> warnings_;
};

}  // namespace link_node
