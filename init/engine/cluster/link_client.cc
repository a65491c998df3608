#include "init/engine/cluster/link_client.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "base/wire.h"
#include "init/engine/cluster/hang_dumps.h"
#include "init/engine/cluster/link_attempt.h"
#include "init/engine/cluster/link_clock.h"
#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_members.h"
#include "init/engine/cluster/link_pipes.h"
#include "init/engine/cluster/link_resolver.h"
#include "init/engine/cluster/link_rows.h"
#include "init/engine/cluster/link_status_socket.h"
#include "lifecycle/link_watch.h"
#include "lifecycle/node_names.h"

namespace engine {
namespace {

using Kind = LinkFrame::Kind;
using lifecycle::NodeReport;

constexpr std::int64_t kFirstPauseMs = 100;
constexpr std::int64_t kMaxPauseMs = 2000;
// Pause between attempts after a difference: several fit in while node 0 ends.
constexpr std::int64_t kDiffersPauseMs = 500;
constexpr std::int64_t kWarnMs = 30'000;
// Refusals in an elastic job are reported only after this time: the nodes see a changed list at
// different times.
constexpr std::int64_t kOtherListMs = 10'000;
constexpr std::int64_t kFarewellMs = 1000;
constexpr std::int64_t kMaxWaitMs = 10'000;

class LinkClient {
 public:
  LinkClient(const LinkSettings& settings, const base::Environ& env, int down, int up)
      : settings_(settings),
        pipes_(down, up),
        key_(settings.secret, settings.common),
        resolver_(settings.address, env),
        watch_(settings.timeout_ms, settings.loss_counts, lifecycle::node_text(0, settings.names)),
        random_(static_cast<std::minstd_rand::result_type>(settings.instance)),
        status_(settings.socket, no_status_),
        alone_ms_(clock_.now_ms()) {
    host_ = lifecycle::node_text(0, settings.names) + " at " + settings.address + " port " +
            std::to_string(settings.port);
    if (!no_status_.empty()) pipes_.warn(no_status_);
    if (settings.node0_instance != 0)
      watch_.resume(settings.node0_instance, settings.restarts, now());
  }

  // Returns 0 if the leave message was delivered or none was due, otherwise 1.
  int run() {
    while (true) {
      attempt_or_warn();
      turn(wait_ms());
      if (farewell_) {
        if (delivered_ || (over_ && !main_.open())) return 0;
        if (sys::monotonic_ms() >= farewell_ms_) return 1;
      } else if (pipes_.closed()) {
        return 0;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t now() const { return clock_.now_ms(); }
  // Shortens `ms` by a random part of at most an eighth. Otherwise ten thousand nodes that lost
  // node 0 together would all connect at one moment.
  std::int64_t jittered(std::int64_t ms) {
    constexpr std::int64_t kParts = 8;
    const std::int64_t most = std::max<std::int64_t>(ms / kParts, 1);
    return ms - std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  // --- Waiting ---

  [[nodiscard]] bool silent() const {
    constexpr std::int64_t kHalves = 5;  // the unit is half an interval, so this is 2.5 intervals
    return now() - heard_ms_ >= heartbeat_ms_ * kHalves / 2;
  }

  [[nodiscard]] std::int64_t wait_ms() const {
    std::int64_t wait_ms = kMaxWaitMs;
    auto until = [&](std::optional<std::int64_t> at_ms, std::int64_t now_ms) {
      if (at_ms) wait_ms = std::min(wait_ms, *at_ms - now_ms);
    };
    if (main_.open()) {
      until(beat_ms_, now());
      if (!attempt_) until(std::max(heard_ms_ + heartbeat_ms_ * 5 / 2, next_attempt_ms_), now());
    } else if (!attempt_ && !over_ && may_connect() && resolver_.fd() < 0) {
      until(next_attempt_ms_, now());
    }
    if (!main_.open() && !warned_) until(alone_ms_ + kWarnMs, now());
    if (attempt_) until(attempt_->deadline_ms(), now());
    until(watch_.next_tick(), now());
    until(pipes_.next_ms(), sys::monotonic_ms());
    if (farewell_) until(farewell_ms_, sys::monotonic_ms());
    return std::max<std::int64_t>(wait_ms, 0);
  }

  // Waits once, and handles all that was received. Checks node 0's silence only after that.
  void turn(std::int64_t planned_ms) {
    const short main_events =
        static_cast<short>(main_.open() && main_.clogged() ? POLLIN | POLLOUT : POLLIN);
    std::array<pollfd, 6> waits{{
        {pipes_.closed() ? -1 : pipes_.down(), POLLIN, 0},
        {pipes_.waits() ? pipes_.up() : -1, POLLOUT, 0},
        {main_.fd(), main_events, 0},
        {attempt_ ? attempt_->fd() : -1, attempt_ ? attempt_->events() : short{0}, 0},
        {resolver_.fd(), POLLIN, 0},
        {status_.fd(), POLLIN, 0},
    }};
    ::poll(waits.data(), waits.size(), static_cast<int>(planned_ms));
    clock_.woke(planned_ms);
    if (waits[4].revents != 0) resolved();
    if (waits[2].revents != 0) hear();
    if (attempt_) step_attempt();
    if (waits[1].revents != 0) pipes_.flush();
    if (waits[0].revents != 0) {
      if (auto report = pipes_.read()) take(std::move(*report));
    }
    if (waits[5].revents != 0) status_.ready();
    ask_for_rows();
    beat();
    if (const auto lost = watch_.lost(now())) pipes_.verdict(*lost);
    pipes_.tick();
  }

  // --- PID 1 ---

  void take(NodeReport report) {
    const bool first_farewell = !farewell_ && report.stage == NodeReport::Stage::kEnded;
    // If this node waits for a start again, another process may become node 0, so the link is not
    // over.
    over_ = over_ && report.stage != NodeReport::Stage::kPreparing &&
            report.stage != NodeReport::Stage::kArrived;
    const bool fails = report.failure && !(report_ && report_->failure);
    report_ = std::move(report);
    if (fails && !main_.open()) {
      next_attempt_ms_ = 0;
      pause_ms_ = kFirstPauseMs;
    }
    if (first_farewell) {
      farewell_ = true;
      farewell_ms_ = sys::monotonic_ms() + (main_.open() ? kFarewellMs : kFirstFarewellMs);
      next_attempt_ms_ = 0;
    }
    send_report();
  }

  void send_report() {
    if (!main_.open() || !report_) return;
    if (!report_->places.empty() && std::exchange(looked_, report_->look) != report_->look) {
      for (const std::string& payload : dump_payloads(settings_.recorder, report_->look)) {
        if (!main_.send(Kind::kRecorder, payload)) return closed();
      }
    }
    if (!main_.send(Kind::kReport, base::to_wire(*report_))) {
      closed();
    } else if (farewell_ && !main_.clogged()) {
      main_.end_sending();
      said_all_ = true;
    }
  }

  // --- Node 0 ---

  // Handles what node 0 has sent. Even if node 0 takes no more data, all frames that it sent before
  // are handled.
  void hear() {
    const bool takes = main_.flush();
    if (takes && farewell_ && !said_all_ && !main_.clogged()) {
      main_.end_sending();
      said_all_ = true;
    }
    const bool says = main_.receive();
    hear_frames();
    if (main_.open() && (!takes || !says)) closed();
  }

  void hear_frames() {
    LinkFrame frame;
    auto next = LinkConnection::Next::kNone;
    while ((next = main_.next(frame)) == LinkConnection::Next::kFrame) {
      heard_ms_ = now();
      watch_.heard(now());
      // The present connection works, so no new one is needed.
      if (attempt_ && !attempt_->shown()) attempt_.reset();
      if (!hear_frame(frame)) return closed();
    }
    if (next == LinkConnection::Next::kStranger) closed();
  }

  bool hear_frame(const LinkFrame& frame) {
    switch (frame.kind) {
      case Kind::kHeartbeat:
        return true;
      case Kind::kPing:
        // If the send fails, do nothing: the end of the connection shows it, after the frames that
        // were received before.
        if (!said_all_ && !main_.clogged()) std::ignore = send_heartbeat();
        return true;
      case Kind::kVerdict: {
        const auto verdict = base::from_wire<lifecycle::NodeVerdict>(frame.payload);
        if (!verdict) return false;
        over_ = over_ || verdict->ended;
        pipes_.verdict(watch_.verdict(*verdict, report_.value_or(NodeReport{}), now()));
        return true;
      }
      case Kind::kRows: {
        const auto rows = base::from_wire<LinkRows>(frame.payload);
        if (rows) status_.rows(*rows);
        return rows.has_value();
      }
      default:
        return false;
    }
  }

  // Passes requests for rows (`trainit status --cluster`) on to node 0, one at a time.
  void ask_for_rows() {
    if (main_.open() && main_.clogged()) return;
    while (const auto from = status_.next_request()) {
      if (!main_.open() || said_all_) {
        status_.no_rows("no connection to " + host_);
      } else if (!main_.send(Kind::kNodes, base::to_wire(LinkNodesRequest{*from}))) {
        closed();
      }
    }
  }

  bool send_heartbeat() {
    const LinkHeartbeat heartbeat{.silent_ms = silent_ms(settings_)};
    return main_.send(Kind::kHeartbeat, base::to_wire(heartbeat));
  }

  void beat() {
    if (!main_.open() || said_all_ || now() < beat_ms_) return;
    beat_ms_ = now() + jittered(heartbeat_ms_);
    if (!main_.clogged() && !send_heartbeat()) closed();
  }

  void closed() {
    main_.close();
    status_.no_rows("no connection to " + host_);
    delivered_ = said_all_;
    watch_.closed(now());
    alone_ms_ = now();
    warned_ = false;
    pause_ms_ = kFirstPauseMs;
    next_attempt_ms_ = now() + kFirstPauseMs - jittered(kFirstPauseMs);
    pipes_.state({.text = over_ || said_all_ ? "" : host_ + ": the connection was lost"});
  }

  // --- Attempts ---

  // True if the worker may connect. If an earlier worker was connected, LinkWatch first needs this
  // node's report, because node 0 may be a different process now.
  [[nodiscard]] bool may_connect() const { return report_ || settings_.node0_instance == 0; }

  // True if this node is of another job and ends, so that node 0 needs no more messages from it. A
  // node that was only refused for a while may still have a failure to report.
  [[nodiscard]] bool leaves() const {
    return differs_ && report_ && report_->stage >= NodeReport::Stage::kStopping;
  }

  void attempt_or_warn() {
    resolver_.reap();
    const bool wanted = main_.open() ? silent() : !over_ && may_connect() && !leaves();
    if (wanted && !attempt_ && now() >= next_attempt_ms_ && !resolver_.addresses().empty()) {
      began_ms_ = now();
      attempt_.emplace(settings_, key_, resolver_.addresses(), now());
      step_attempt();
    }
    if (wanted && resolver_.addresses().empty() && now() >= next_attempt_ms_) {
      resolver_.look_again();
    }
    if (main_.open() || warned_ || over_ || now() - alone_ms_ < kWarnMs) return;
    warned_ = true;
    pipes_.warn(to_line(base::Error{
        "keeping the link between the job's nodes", host_,
        "that no connection could be made for " + base::seconds(kWarnMs) + ": " + why_,
        "until there is one, failures on other nodes are seen by their effects only: see whether "
        "node 0 runs, and whether a network policy lets this port through (--link-port chooses "
        "another one, alike on all nodes)"}));
  }

  void resolved() {
    const bool first = resolver_.addresses().empty();
    resolver_.ready();
    if (!resolver_.addresses().empty()) {
      if (first) next_attempt_ms_ = 0;
    } else if (resolver_.fd() < 0) {
      next_attempt_ms_ = now() + kMaxPauseMs;
      why_ = resolver_.why();
      if (!main_.open()) pipes_.state({.text = host_ + ": " + why_});
    }
  }

  void step_attempt() {
    switch (attempt_->step(now())) {
      case LinkAttempt::State::kWelcomed:
        welcomed();
        return;
      case LinkAttempt::State::kFailed:
        break;
      default:
        return;
    }
    why_ = attempt_->why();
    if (!main_.open()) note_refusal(attempt_->refused() && !attempt_->differs());
    if (!main_.open()) note_difference(*attempt_);
    attempt_.reset();
    resolver_.look_again();
    next_attempt_ms_ = std::max(now(), began_ms_ + jittered(pause_ms_));
    pause_ms_ = std::min(pause_ms_ * 3 / 2, kMaxPauseMs);
    if (!main_.open()) pipes_.state({.text = host_ + ": " + why_});
  }

  // Warns of a refusal that lasts. A single one may be temporary: node 0, or a container in this
  // node's place, may be ending.
  void note_refusal(bool refused) {
    if (!refused) return refused_ms_.reset();
    const bool first = !refused_ms_;
    if (first) refused_ms_ = now();
    if (first || warned_ || now() - *refused_ms_ < (settings_.elastic ? kOtherListMs : 0)) return;
    warned_ = true;
    pipes_.warn(to_line(base::Error{
        "joining the job's nodes as " + lifecycle::node_text(settings_.node, settings_.names),
        host_, "a refusal: " + why_,
        "end the container that is too many, or give it its own --node-rank and both the same list "
        "of nodes and --job-secret; until then this node sees failures on others by their effects "
        "only"}));
  }

  // Handles a refusal for a difference that cannot change. The job ends only if node 0 says that
  // the difference has lasted: a container of another job may be about to end.
  void note_difference(const LinkAttempt& attempt) {
    differs_ = attempt.differs();
    if (!differs_) return;
    pause_ms_ = kDiffersPauseMs;
    if (!std::exchange(warned_, true)) {
      pipes_.warn("link: " + host_ + " refuses this node: " + why_ +
                  "; the job ends if that stays");
    }
    if (!attempt.ends_job()) return;
    over_ = true;
    pipes_.verdict({.state = lifecycle::NodeVerdict::State::kFailed,
                    .restarts = report_ ? report_->restarts : 0,
                    .failure = lifecycle::NodeFailure{
                        .kind = lifecycle::NodeFailure::Kind::kDiffers,
                        .node = settings_.node,
                        .message = lifecycle::difference_text(
                            lifecycle::node_text(settings_.node, settings_.names), why_)}});
  }

  void welcomed() {
    refused_ms_.reset();
    // Use the interval of the end with the shorter time-out.
    heartbeat_ms_ = std::min(attempt_->heartbeat_ms(), heartbeat_ms(settings_));
    main_.abort();
    main_ = attempt_->take();
    attempt_.reset();
    said_all_ = false;
    looked_ = 0;
    pause_ms_ = kFirstPauseMs;
    heard_ms_ = now();
    beat_ms_ = now() + jittered(heartbeat_ms_);
    watch_.connected(now());
    pipes_.state({.up = true, .text = "connected to " + host_});
    send_report();
    if (main_.open()) hear_frames();  // handle frames that came together with the welcome
  }

  const LinkSettings& settings_;
  LinkClock clock_;
  LinkPipes pipes_;
  LinkKey key_;
  LinkResolver resolver_;
  lifecycle::LinkWatch watch_;
  std::minstd_rand random_;
  std::string no_status_;
  LinkStatusSocket status_;
  std::string host_;
  LinkConnection main_;
  std::optional<LinkAttempt> attempt_;
  std::optional<NodeReport> report_;  // the latest report of PID 1
  std::uint32_t looked_ = 0;          // number of the look whose dumps were sent last
  std::int64_t heartbeat_ms_ = 0;
  std::int64_t heard_ms_ = 0;
  std::int64_t beat_ms_ = 0;
  std::int64_t next_attempt_ms_ = 0;
  std::int64_t began_ms_ = 0;
  std::int64_t pause_ms_ = kFirstPauseMs;
  std::string why_ = "not reached yet";
  std::int64_t alone_ms_ = 0;  // start of the time without a connection
  bool warned_ = false;
  bool differs_ = false;                    // the last attempt was refused for a difference
  std::optional<std::int64_t> refused_ms_;  // time of the first of consecutive refusals
  bool over_ = false;                       // node 0 has left, or has refused this node for ever
  bool farewell_ = false;
  // Time at which the worker gives up the leave message; monotonic clock.
  std::int64_t farewell_ms_ = 0;
  bool said_all_ = false;
  bool delivered_ = false;
};

}  // namespace

int run_link_client(const LinkSettings& settings, const base::Environ& env, int down, int up) {
  return LinkClient(settings, env, down, up).run();
}

}  // namespace engine
