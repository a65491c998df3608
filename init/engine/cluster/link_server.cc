#include "init/engine/cluster/link_server.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/exit_codes.h"
#include "base/result.h"
#include "base/text.h"
#include "init/engine/cluster/hang_judge.h"
#include "init/engine/cluster/link_attempt.h"
#include "init/engine/cluster/link_members.h"
#include "init/engine/cluster/link_pipes.h"
#include "init/engine/cluster/link_resolver.h"
#include "init/engine/cluster/link_rows.h"
#include "init/engine/cluster/link_socket.h"
#include "init/engine/cluster/link_status_socket.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "lifecycle/coordinator.h"

namespace engine {
namespace {

using lifecycle::NodeReport;

constexpr std::int64_t kListenPauseMs = 3000;
constexpr std::int64_t kPortPauseMs = 200;
constexpr std::int64_t kFarewellMs = 1000;
constexpr std::int64_t kMaxWaitMs = 10'000;
constexpr std::int64_t kSeekMs = 5000;      // duration of the search for a second node 0
constexpr std::int64_t kSeekPauseMs = 500;  // pause of that search before the next attempt
constexpr std::int64_t kSeekLookMs = 50;    // poll interval of that search
constexpr std::int64_t kMissingMs = 10'000;
constexpr std::uint32_t kMaxMissing = 8;  // maximum of nodes that a message names
// If there are this many nodes or more, the server reads only every kLookMs, all that has arrived
// by then. Waking up for each message of ten thousand nodes costs more than reading it.
constexpr std::uint32_t kManyNodes = 1000;
constexpr std::int64_t kLookMs = 20;
constexpr int kMaxRounds = 64;  // calls of epoll_wait() in one turn

// The ids of the descriptors in the poller that are no connections of nodes.
enum Source : std::uint64_t { kDown = 1, kUp = 2, kListener = 3, kStatus = 4 };

lifecycle::Coordinator::Settings coordinator_settings(const LinkSettings& settings,
                                                      HangDumps& dumps) {
  return {.node_count = settings.node_count,
          .cluster = settings.cluster,
          .names = settings.names,
          .stops = settings.stops,
          .together = settings.together,
          .loss_counts = settings.loss_counts,
          .stop_counts = settings.stop_counts,
          .timeout_ms = settings.timeout_ms,
          .restart_reset_ms = settings.restart_reset_ms,
          .all_connected = settings.all_connected,
          .judge_hang = [&](const auto& looks, std::uint32_t look, bool whole) {
            auto hang = judge_hang(looks, whole, settings.names, dumps.of(look));
            dumps.clear();
            return hang;
          }};
}

class LinkServer {
 public:
  LinkServer(const LinkSettings& settings, const base::Environ& env, int down, int up)
      : settings_(settings),
        poller_(::epoll_create1(EPOLL_CLOEXEC)),
        pipes_(down, up),
        coordinator_(coordinator_settings(settings, dumps_), now_ms_),
        members_(settings, coordinator_, dumps_, poller_.get()),
        key_(settings.secret, settings.common),
        resolver_(settings.address, env),
        status_(settings.socket, no_status_) {
    if (status_.fd() >= 0) watch(status_.fd(), kStatus, EPOLLIN, EPOLL_CTL_ADD);
    if (!no_status_.empty()) pipes_.warn(no_status_);
    watch(pipes_.down(), kDown, EPOLLIN, EPOLL_CTL_ADD);
    watch(pipes_.up(), kUp, 0, EPOLL_CTL_ADD);
    coordinator_.connected(0, settings.instance, now_ms_);
    listens_ = "listens at port " + std::to_string(settings.port) + " for " +
               std::to_string(settings.node_count - 1) + " other node" +
               (settings.node_count == 2 ? "" : "s");
  }

  int run() {
    if (!poller_.valid()) return exit_code::kOwnFailure;
    while (!gone_) {
      listen();
      look_at_port();
      look_for_another();
      tell();
      turn(wait_ms());
      if (farewell_ && !awaits_first()) return end();
    }
    return 0;
  }

 private:
  void watch(int fd, std::uint64_t id, std::uint32_t events, int operation) const {
    epoll_event event{.events = events, .data = {.u64 = id}};
    ::epoll_ctl(poller_.get(), operation, fd, &event);
  }

  // Listens, unless another process holds the port. It may be one of the previous start, which
  // exits soon, or a foreign one for ever.
  void listen() {
    if (listener_.valid() || now_ms_ < listen_ms_) return;
    const int error = listen_at(settings_.port, listener_);
    listen_ms_ = now_ms_ + kListenPauseMs;
    if (error == 0) {
      watch(listener_.get(), kListener, EPOLLIN, EPOLL_CTL_ADD);
      all_connected_ = coordinator_.all_connected();
      tell_state(listens_);
      return;
    }
    const std::string where = "port " + std::to_string(settings_.port) + " of this node";
    pipes_.state({.text = where + ": " + sys::errno_text(error)});
    if (std::exchange(listen_error_, error) == error) return;
    pipes_.warn(
        base::to_line({"opening the link between the job's nodes", where, sys::errno_text(error),
                       "until it is free each node sees failures on others by their effects "
                       "only: see what listens there (ss -ltnp), or choose another one with "
                       "--link-port, alike on all nodes"}));
  }

  // Blocks the next start while a process, such as one of the previous start, listens on
  // MASTER_PORT. Once the start is granted, a rank listens there, so the server stops looking.
  void look_at_port() {
    if (!arrival_ || now_ms_ < port_ms_) return;
    if (coordinator_.verdict_for(0, now_ms_).go == *arrival_) {
      arrival_.reset();
      return;
    }
    port_ms_ = now_ms_ + kPortPauseMs;
    sys::Fd probe;
    const bool taken = listen_at(settings_.free_port, probe) == EADDRINUSE;
    coordinator_.block_start(
        taken ? "a process of the last start, or another one, listens at its port " +
                    std::to_string(settings_.free_port)
              : "");
  }

  // Looks for a second node 0 at the master's address. If the platform has made two machines node
  // 0, one of them finds the other there. That ends the job only if the master's address is a
  // number and this node listens itself. Otherwise the other process may be a container that this
  // one replaces.
  void look_for_another() {
    if (searched_) return;
    searched_ = members_.met_itself() || farewell_ || now_ms_ > seek_until_ms_;
    if (searched_) return attempt_.reset();
    resolver_.reap();
    pollfd resolved{resolver_.fd(), POLLIN, 0};
    if (resolved.fd >= 0 && ::poll(&resolved, 1, 0) == 1) resolver_.ready();
    if (!attempt_ && now_ms_ >= seek_ms_ && !resolver_.addresses().empty()) {
      attempt_.emplace(settings_, key_, resolver_.addresses(), now_ms_);
    }
    if (!attempt_ || attempt_->step(now_ms_) != LinkAttempt::State::kFailed) return;
    if (attempt_->ends_job()) {
      const bool certain = listener_.valid() && resolver_.addresses().front() == settings_.address;
      if (seek_until_ms_ == began_ms_ + kSeekMs) pipes_.warn("link: " + attempt_->why());
      seek_until_ms_ = certain ? now_ms_ + kSeekMs : now_ms_ - 1;
      if (certain) coordinator_.differs(0, attempt_->why(), now_ms_, true);
    }
    attempt_.reset();
    seek_ms_ = now_ms_ + kSeekPauseMs;
  }

  void take(const NodeReport& report) {
    const bool arrives = report.stage == NodeReport::Stage::kArrived;
    arrival_.reset();
    if (arrives && settings_.free_port != 0) {
      arrival_ = report.arrival;
      port_ms_ = 0;
      look_at_port();
    }
    if (!report.places.empty() && std::exchange(looked_, report.look) != report.look) {
      for (const std::string& payload : dump_payloads(settings_.recorder, report.look)) {
        std::ignore = dumps_.add(payload);
      }
    }
    coordinator_.reported(0, report, now_ms_);
    if (farewell_ || report.stage != NodeReport::Stage::kEnded) return;
    farewell_ = true;
    const bool soon = now_ms_ < began_ms_ + kFirstMs;
    if (report.exit_code != 0 && (soon || coordinator_.ended_by_difference())) {
      first_until_ms_ = now_ms_ + kFirstFarewellMs;
    }
  }

  // True while nodes that have never connected may still do so, because they must learn of the
  // failure.
  [[nodiscard]] bool awaits_first() const {
    if (now_ms_ >= first_until_ms_) return false;
    for (std::uint32_t node = 1; node < settings_.node_count; ++node) {
      if (coordinator_.presence(node) == lifecycle::Coordinator::Presence::kNeverConnected)
        return true;
    }
    return false;
  }

  void tell() {
    if (const auto at_ms = coordinator_.next_tick(); at_ms && *at_ms <= now_ms_) {
      coordinator_.tick(now_ms_);
    }
    members_.tick(now_ms_);
    members_.tell_all(now_ms_);
    if (told_version_ != coordinator_.version()) {
      told_version_ = coordinator_.version();
      pipes_.verdict(coordinator_.verdict_for(0, now_ms_));
    }
    if (listener_.valid() && all_connected_ != coordinator_.all_connected()) {
      all_connected_ = coordinator_.all_connected();
      tell_state("");
    }
    if (const auto warning = members_.take_warning()) pipes_.warn("link: " + *warning);
    look_for_absent();
    pipes_.tick();
  }

  void tell_state(const std::string& text) {
    pipes_.state({.up = true, .text = text, .all_connected = all_connected_, .absent = absent_});
  }

  // Warns of nodes that have not connected, because ranks that wait for theirs print nothing.
  void look_for_absent() {
    // If the nodes start together (free_port is set), the wait before the start already names the
    // missing nodes.
    if ((looked_for_absent_ && absent_.empty()) || farewell_ || settings_.free_port != 0 ||
        now_ms_ < began_ms_ + kMissingMs)
      return;
    const bool first = !std::exchange(looked_for_absent_, true);
    const std::string absent = absent_nodes();
    if (first && !absent.empty()) {
      pipes_.warn("link: not connected after " + base::seconds(kMissingMs) + ": " + absent +
                  "; ranks that wait for theirs go on when they come");
    }
    if (std::exchange(absent_, absent) != absent && listener_.valid()) tell_state("");
  }

  // Returns the nodes that have never connected: "node 1 (b), node 2 (c) and 7 more".
  [[nodiscard]] std::string absent_nodes() const {
    std::string names;
    std::uint32_t missing = 0;
    for (std::uint32_t node = 1; node < settings_.node_count; ++node) {
      if (coordinator_.presence(node) != lifecycle::Coordinator::Presence::kNeverConnected)
        continue;
      if (++missing <= kMaxMissing) {
        names += (missing == 1 ? "" : ", ") + lifecycle::node_text(node, settings_.names);
      }
    }
    if (missing > kMaxMissing) {
      names += " and " + std::to_string(missing - kMaxMissing) + " more";
    }
    return names;
  }

  [[nodiscard]] std::int64_t wait_ms() const {
    std::int64_t wait_ms = kMaxWaitMs;
    auto until = [&](std::optional<std::int64_t> at_ms) {
      if (at_ms) wait_ms = std::min(wait_ms, *at_ms - now_ms_);
    };
    until(coordinator_.next_tick());
    until(members_.next_ms());
    if (!listener_.valid() || !accepts_) until(listen_ms_);
    if (arrival_) until(port_ms_);
    if (!searched_) until(now_ms_ + kSeekLookMs);
    if (farewell_) until(first_until_ms_);
    if (!looked_for_absent_) until(began_ms_ + kMissingMs);
    until(pipes_.next_ms());
    return std::max<std::int64_t>(wait_ms, 0);
  }

  // Waits once, and handles all that was received. The caller checks the silence of nodes only
  // after that.
  void turn(std::int64_t planned_ms) {
    if (waits_for_pid1_ != pipes_.waits()) {
      waits_for_pid1_ = pipes_.waits();
      watch(pipes_.up(), kUp, waits_for_pid1_ ? EPOLLOUT : 0U, EPOLL_CTL_MOD);
    }
    if (!accepts_ && listener_.valid() && now_ms_ >= listen_ms_) {
      accepts_ = true;
      watch(listener_.get(), kListener, EPOLLIN, EPOLL_CTL_MOD);
    }
    const std::int64_t rest_ms = looked_ms_ + kLookMs - sys::monotonic_ms();
    if (settings_.node_count >= kManyNodes && rest_ms > 0) {
      sys::pause_ms(std::min(rest_ms, kLookMs));
    }
    std::array<epoll_event, 256> events;
    for (int round = 0; round < kMaxRounds; ++round) {
      const int count = ::epoll_wait(poller_.get(), events.data(), events.size(),
                                     round == 0 ? static_cast<int>(planned_ms) : 0);
      now_ms_ = sys::monotonic_ms();
      for (int i = 0; i < count; ++i) {
        const epoll_event event = events.at(static_cast<std::size_t>(i));
        answer(event.data.u64, event.events);
      }
      if (count < static_cast<int>(events.size())) break;
    }
    looked_ms_ = sys::monotonic_ms();
  }

  void answer(std::uint64_t id, std::uint32_t events) {
    switch (id) {
      case kDown: {
        const auto report = pipes_.read();
        if (report) take(*report);
        gone_ = gone_ || pipes_.closed();
        break;
      }
      case kUp:
        pipes_.flush();
        gone_ = gone_ || (events & (EPOLLERR | EPOLLHUP)) != 0;
        break;
      case kListener:
        if (!members_.accept_all(listener_.get(), now_ms_)) pause_accepting();
        break;
      case kStatus:
        status_.ready();
        while (const auto from = status_.next_request()) {
          status_.rows(members_.rows(*from, now_ms_));
        }
        break;
      default:
        members_.ready(id, events, now_ms_);
    }
  }

  // Stops accepting for kListenPauseMs. Otherwise a waiting connection would wake the loop again
  // and again while no descriptor is free.
  void pause_accepting() {
    accepts_ = false;
    listen_ms_ = now_ms_ + kListenPauseMs;
    watch(listener_.get(), kListener, 0, EPOLL_CTL_MOD);
  }

  int end() {
    listener_.reset();
    ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, pipes_.down(), nullptr);
    ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, pipes_.up(), nullptr);
    members_.see_off(now_ms_);
    const std::int64_t deadline_ms = sys::monotonic_ms() + kFarewellMs;
    while (!members_.all_gone()) {
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      if (left_ms <= 0) break;
      turn(left_ms);
    }
    return 0;
  }

  const LinkSettings& settings_;
  sys::Fd poller_;
  std::int64_t now_ms_ = sys::monotonic_ms();  // present time, read once per turn
  const std::int64_t began_ms_ = now_ms_;
  bool looked_for_absent_ = false;
  std::string absent_;  // LinkState::absent
  LinkPipes pipes_;
  HangDumps dumps_;
  std::uint32_t looked_ = 0;  // number of the look for which node 0's own dumps were read last
  lifecycle::Coordinator coordinator_;
  LinkMembers members_;
  LinkKey key_;
  LinkResolver resolver_;
  // Attempt to connect to the process at the master's address, in search of a second node 0.
  std::optional<LinkAttempt> attempt_;
  bool searched_ = false;     // the search for a second node 0 has ended
  std::int64_t seek_ms_ = 0;  // time of that search's next attempt
  std::int64_t seek_until_ms_ = began_ms_ + kSeekMs;
  std::string no_status_;
  LinkStatusSocket status_;
  std::string listens_;
  sys::Fd listener_;
  int listen_error_ = 0;
  std::int64_t listen_ms_ = 0;  // time of the next attempt to listen or accept
  bool accepts_ = true;
  bool all_connected_ = false;  // value that was sent to PID 1 last
  // NodeReport::arrival of node 0 while it waits for a free MASTER_PORT
  std::optional<std::uint32_t> arrival_;
  std::int64_t port_ms_ = 0;  // time of the next look at the port
  std::int64_t looked_ms_ = 0;
  std::uint64_t told_version_ = 0;
  bool waits_for_pid1_ = false;
  bool farewell_ = false;
  // End of the wait for nodes that have never connected, before the leave messages.
  std::int64_t first_until_ms_ = 0;
  bool gone_ = false;
};

}  // namespace

int run_link_server(const LinkSettings& settings, const base::Environ& env, int down, int up) {
  raise_descriptor_limit();
  return LinkServer(settings, env, down, up).run();
}

}  // namespace engine
