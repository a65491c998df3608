// link_load [NODES]: one process plays the nodes of a job against node 0's worker of the link, and
// says what that costs it: memory, CPU, and how long what is said takes to be known to all.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/wire.h"
#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_members.h"
#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_socket.h"
#include "init/engine/cluster/link_wire.h"
#include "init/engine/cluster/link_worker.h"
#include "init/engine/workers/messages.h"
#include "init/sys/clock.h"
#include "lifecycle/coordinator.h"

namespace {

using engine::LinkConnection;
using engine::LinkFrame;
using lifecycle::NodeFailure;
using lifecycle::NodeReport;
using lifecycle::NodeVerdict;
using Kind = LinkFrame::Kind;
using Stage = NodeReport::Stage;

constexpr std::int64_t kLimitMs = 120'000;

void require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

int free_port() {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
              ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "a port");
  return ntohs(address.sin_port);
}

// Node 0's worker, and what it costs.
class Worker {
 public:
  explicit Worker(const engine::LinkSettings& settings) {
    std::array<int, 2> down{};
    std::array<int, 2> up{};
    require(::pipe2(down.data(), O_CLOEXEC) == 0 && ::pipe2(up.data(), O_CLOEXEC) == 0, "pipes");
    pid_ = ::fork();
    if (pid_ == 0) {
      const std::array<int, 2> kept{down[0], up[1]};
      sys::close_descriptors(3, kept);
      ::_exit(engine::run_link(settings, {}, down[0], up[1]));
    }
    ::close(down[0]);
    ::close(up[1]);
    down_.reset(down[1]);
    up_.reset(up[0]);
    ::fcntl(up_.get(), F_SETFL, O_NONBLOCK);
    require(::clock_getcpuclockid(pid_, &clock_) == 0, "its clock");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void report(const NodeReport& report) const {
    engine::send_message(down_.get(), engine::kLinkReport, base::to_wire(report));
  }
  void drain() const {
    std::array<char, 65536> part;
    while (::read(up_.get(), part.data(), part.size()) > 0) {
    }
  }
  [[nodiscard]] double cpu_ms() const {
    timespec time{};
    ::clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  [[nodiscard]] double megabytes(const std::string& field) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with(field + ":")) return std::atof(line.c_str() + field.size() + 1) / 1024;
    }
    return 0;
  }
  int exit_code() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = -1;
  sys::Fd down_;
  sys::Fd up_;
  clockid_t clock_{};
};

NodeReport report_of(Stage stage) {
  NodeReport report;
  report.stage = stage;
  report.arrival = 1;
  report.cluster = 1;
  report.may_restart = true;
  report.ranks = 8;
  report.phase = "running";
  return report;
}

class Crowd {
 public:
  Crowd(const engine::LinkSettings& settings, const Worker& worker)
      : settings_(settings), worker_(worker), nodes_(settings.node_count) {
    poller_.reset(::epoll_create1(EPOLL_CLOEXEC));
  }

  void connect(std::uint32_t node) {
    int error = 0;
    sys::Fd socket =
        engine::begin_connect(engine::socket_address("127.0.0.1", settings_.port), error);
    require(socket.valid(), "connect");
    epoll_event event{.events = EPOLLIN, .data = {.u32 = node}};
    require(::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0, "epoll");
    nodes_[node].connection = LinkConnection(std::move(socket), 30'000);
  }
  void report(std::uint32_t node, const NodeReport& report) {
    nodes_[node].connection.send(Kind::kReport, base::to_wire(report));
  }
  void beat(std::uint32_t node) {
    nodes_[node].connection.send(Kind::kHeartbeat, base::to_wire(engine::LinkHeartbeat{}));
  }
  [[nodiscard]] std::uint32_t welcomed() const { return welcomed_; }
  // How many have such a verdict.
  std::uint32_t told(const std::function<bool(const NodeVerdict&)>& is_so) {
    is_so_ = is_so;
    return told_;
  }
  void expect(const std::function<bool(const NodeVerdict&)>& is_so) {
    is_so_ = is_so;
    told_ = 0;
    for (Node& node : nodes_) node.told = false;
  }
  [[nodiscard]] std::uint32_t told() const { return told_; }
  [[nodiscard]] std::uint32_t closed() const { return closed_; }

  void turn(int wait_ms) {
    std::array<epoll_event, 1024> events;
    const int count = ::epoll_wait(poller_.get(), events.data(), events.size(), wait_ms);
    for (int i = 0; i < count; ++i) hear(events.at(static_cast<std::size_t>(i)).data.u32);
    worker_.drain();
  }
  void until(const std::function<bool()>& done, const char* what) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
    while (!done()) {
      turn(10);
      require(sys::monotonic_ms() < deadline_ms, what);
    }
  }

 private:
  struct Node {
    LinkConnection connection;
    bool told = false;
  };

  void hear(std::uint32_t rank) {
    Node& node = nodes_[rank];
    if (!node.connection.receive()) {
      node.connection.close();
      ++closed_;
      return;
    }
    LinkFrame frame;
    auto next = LinkConnection::Next::kNone;
    while ((next = node.connection.next(frame)) == LinkConnection::Next::kFrame) {
      if (frame.kind == Kind::kGreeting) {
        say_hello(rank, std::string(frame.payload));
      } else if (frame.kind == Kind::kWelcome) {
        ++welcomed_;
      } else if (frame.kind == Kind::kVerdict) {
        const auto verdict = base::from_wire<NodeVerdict>(frame.payload);
        require(verdict.has_value(), "a verdict");
        if (!node.told && is_so_ && is_so_(*verdict)) {
          node.told = true;
          ++told_;
        }
      }
    }
    require(next == LinkConnection::Next::kNone, "frames");
  }
  void say_hello(std::uint32_t rank, const std::string& nonce) {
    const engine::LinkHello hello{.node = rank,
                                  .node_count = settings_.node_count,
                                  .cluster = settings_.cluster,
                                  .instance = 1000U + rank,
                                  .clock_ms = sys::wall_ms(),
                                  .nonce = engine::new_link_nonce()};
    const std::string bytes = base::to_wire(hello);
    nodes_[rank].connection.send_tagged(Kind::kHello, bytes, key_.hello_tag(nonce, bytes));
    nodes_[rank].connection.begin_session(key_.session(nonce, bytes, false));
  }

  const engine::LinkSettings& settings_;
  const Worker& worker_;
  engine::LinkKey key_{settings_.secret, settings_.common};
  std::vector<Node> nodes_;
  sys::Fd poller_;
  std::uint32_t welcomed_ = 0;
  std::uint32_t closed_ = 0;
  std::function<bool(const NodeVerdict&)> is_so_;
  std::uint32_t told_ = 0;
};

struct Load {
  explicit Load(std::uint32_t count) : others(count - 1) {
    settings.port = free_port();
    settings.node_count = count;
    settings.cluster = 1;
    settings.instance = 1;
    settings.secret = "0123456789abcdef";
    for (std::uint32_t i = 0; i < count; ++i) {
      settings.names.push_back("job-worker-" + std::to_string(i) + ".job.namespace");
    }
  }
  engine::LinkSettings settings;
  std::uint32_t others;

  static void say_memory(const Worker& worker) {
    std::printf("memory, at most so far       %8.1f MB\n", worker.megabytes("VmHWM"));
  }
  void meet(Worker& worker, Crowd& crowd) const {
    worker.report(report_of(Stage::kArrived));
    const double before_ms = worker.cpu_ms();
    const std::int64_t start_ms = sys::monotonic_ms();
    for (std::uint32_t node = 1; node <= others; ++node) {
      crowd.connect(node);
      if (node % 64 == 0) crowd.turn(0);
    }
    crowd.until([&] { return crowd.welcomed() == others; }, "all welcomed");
    const std::int64_t welcomed_ms = sys::monotonic_ms() - start_ms;
    for (std::uint32_t node = 1; node < others; ++node) {
      crowd.report(node, report_of(Stage::kArrived));
      if (node % 64 == 0) crowd.turn(0);
    }
    // A node that is late, so that who is missing is told to all.
    const std::int64_t late_ms = sys::monotonic_ms() + 12'000;
    crowd.until([&] { return sys::monotonic_ms() >= late_ms; }, "the last one");
    crowd.expect([](const NodeVerdict& verdict) { return verdict.go == 1; });
    const std::int64_t last_ms = sys::monotonic_ms();
    crowd.report(others, report_of(Stage::kArrived));
    crowd.until([&] { return crowd.told() == others; }, "go");
    std::printf("all connected after          %8ld ms\n", static_cast<long>(welcomed_ms));
    std::printf("last arrival to all have go  %8ld ms\n",
                static_cast<long>(sys::monotonic_ms() - last_ms));
    std::printf("CPU until go, a node         %8.3f ms\n", (worker.cpu_ms() - before_ms) / others);
  }
  void beat(Worker& worker, Crowd& crowd) const {
    worker.report(report_of(Stage::kRunning));
    for (std::uint32_t node = 1; node <= others; ++node) {
      crowd.report(node, report_of(Stage::kRunning));
    }
    const std::int64_t quiet_ms = sys::monotonic_ms() + 3000;
    crowd.until([&] { return sys::monotonic_ms() >= quiet_ms; }, "quiet");
    constexpr std::int64_t kWindowMs = 20'000;
    const std::int64_t beat_ms = engine::heartbeat_ms(settings);
    const double before_ms = worker.cpu_ms();
    const std::int64_t start_ms = sys::monotonic_ms();
    std::uint64_t beats = 0;
    while (sys::monotonic_ms() - start_ms < kWindowMs) {
      const auto due =
          static_cast<std::uint64_t>(sys::monotonic_ms() - start_ms) * others / beat_ms;
      for (; beats < due; ++beats) crowd.beat(static_cast<std::uint32_t>(beats % others) + 1);
      crowd.turn(1);
    }
    const double wall_ms = static_cast<double>(sys::monotonic_ms() - start_ms);
    std::printf("CPU of heartbeats            %8.2f %% of a core\n",
                (worker.cpu_ms() - before_ms) / wall_ms * 100);
  }
  void fail(Worker& worker, Crowd& crowd) const {
    crowd.expect(
        [](const NodeVerdict& verdict) { return verdict.state == NodeVerdict::State::kFailing; });
    NodeReport report = report_of(Stage::kStopping);
    report.failure =
        NodeFailure{.message = std::string(500, 'm'), .detail = std::string(6000, 'd')};
    const double before_ms = worker.cpu_ms();
    const std::int64_t start_ms = sys::monotonic_ms();
    crowd.report(1, report);
    crowd.until([&] { return crowd.told() == others; }, "that it fails");
    std::printf("failure known to all after   %8ld ms\n",
                static_cast<long>(sys::monotonic_ms() - start_ms));
    crowd.expect(
        [](const NodeVerdict& verdict) { return verdict.state == NodeVerdict::State::kFailed; });
    crowd.until([&] { return crowd.told() == others; }, "what failed");
    std::printf("its cause known to all after %8ld ms\n",
                static_cast<long>(sys::monotonic_ms() - start_ms));
    std::printf("CPU of a failure             %8.0f ms\n", worker.cpu_ms() - before_ms);
  }
  void end(Worker& worker, Crowd& crowd) const {
    worker.report(report_of(Stage::kEnded));
    const std::int64_t start_ms = sys::monotonic_ms();
    crowd.until([&] { return crowd.closed() == others; }, "the end");
    worker.exit_code();
    std::printf("farewell delivered after     %8ld ms\n",
                static_cast<long>(sys::monotonic_ms() - start_ms));
  }
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int kNodes = 10'000;
  const int count = argc > 1 ? std::atoi(argv[1]) : kNodes;
  if (count < 2) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  engine::raise_descriptor_limit();
  const Load load(static_cast<std::uint32_t>(count));
  Worker worker(load.settings);
  Crowd crowd(load.settings, worker);
  // Until it listens.
  for (sys::Fd socket; !socket.valid();) {
    int error = 0;
    socket = engine::begin_connect(engine::socket_address("127.0.0.1", load.settings.port), error);
    ::poll(nullptr, 0, 10);
    if (engine::end_connect(socket.get()) != 0) socket.reset();
  }
  std::printf("nodes                        %8d\n", count);
  Load::say_memory(worker);
  load.meet(worker, crowd);
  Load::say_memory(worker);
  load.beat(worker, crowd);
  load.fail(worker, crowd);
  Load::say_memory(worker);
  load.end(worker, crowd);
  return 0;
}
