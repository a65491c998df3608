#include "init/engine/cluster/link_members.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/text.h"
#include "base/wire.h"
#include "init/engine/cluster/link_rows.h"
#include "init/engine/cluster/link_socket.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

using lifecycle::node_text;
using Kind = LinkFrame::Kind;

constexpr std::int64_t kStrangerMs = 10'000;  // time for a stranger to prove its identity
// Time for a connected node to answer when a newcomer claims its place.
constexpr std::int64_t kAnswerMs = 2000;
constexpr std::int64_t kNewsMs = 2000;
constexpr std::int64_t kWarnMs = 60'000;
constexpr std::int64_t kMaxClockMs = 2000;  // smaller differences of clocks are not reported
constexpr std::size_t kMaxStrangers = 256;
constexpr int kMaxAccepts = 256;  // connections accepted in one turn
constexpr std::size_t kMaxUnsent = 4UL * kMaxLinkPayload;

}  // namespace

// Returns the interval of a node's heartbeats. In a large job, node 0 gets 100 heartbeats a second
// in all, which takes about 0.25 % of a core. But each node sends at least three within a time-out,
// so that very large jobs send more.
std::int64_t heartbeat_ms(const LinkSettings& settings) {
  constexpr std::int64_t kMaxMs = 5000;
  constexpr std::int64_t kOfTimeout = 6;
  constexpr std::int64_t kOfTimeoutOfMany = 3;
  const std::int64_t for_many_ms = std::int64_t{10} * settings.node_count;
  const std::int64_t ms = std::max(std::min(settings.timeout_ms / kOfTimeout, kMaxMs),
                                   std::min(settings.timeout_ms / kOfTimeoutOfMany, for_many_ms));
  return std::max<std::int64_t>(ms, 10);
}

LinkMembers::LinkMembers(const LinkSettings& settings, lifecycle::Coordinator& coordinator,
                         HangDumps& dumps, int poller)
    : settings_(settings),
      coordinator_(coordinator),
      dumps_(dumps),
      poller_(poller),
      key_(settings.secret, settings.common),
      members_(settings.node_count),
      compared_(settings.node_count) {}

bool LinkMembers::accept_all(int listener, std::int64_t now_ms) {
  for (int i = 0; i < kMaxAccepts; ++i) {
    sys::Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = errno;
    const bool no_room = !socket.valid() && (error == EMFILE || error == ENFILE ||
                                             error == ENOBUFS || error == ENOMEM);
    if (!socket.valid() && !no_room) return true;
    if (no_room || connections_.size() >= settings_.node_count + kMaxStrangers) {
      if (!drop_oldest_stranger(now_ms)) return false;
    }
    if (!socket.valid()) continue;
    Peer peer{.connection = LinkConnection(std::move(socket), settings_.timeout_ms)};
    peer.nonce = new_link_nonce();
    peer.greeted_ms = sys::wall_ms();
    epoll_event event{.events = EPOLLIN, .data = {.u64 = next_id_}};
    if (peer.nonce.empty() || !peer.connection.send(Kind::kGreeting, peer.nonce) ||
        ::epoll_ctl(poller_, EPOLL_CTL_ADD, peer.connection.fd(), &event) != 0) {
      continue;
    }
    strangers_[next_id_] = now_ms + kStrangerMs;
    connections_.emplace(next_id_++, std::move(peer));
  }
  return true;
}

bool LinkMembers::drop_oldest_stranger(std::int64_t now_ms) {
  if (strangers_.empty()) return false;
  drop(strangers_.begin()->first, now_ms);
  return true;
}

void LinkMembers::ready(Id id, std::uint32_t events, std::int64_t now_ms) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Peer& peer = found->second;
  if ((events & EPOLLOUT) != 0) {
    if (!peer.connection.flush()) give_up(peer);
    // Send the present verdict, which may have changed while the peer took no data.
    if (!peer.connection.clogged() && peer.stage == Stage::kMember) tell(peer, now_ms);
  }
  const bool speaks = (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
  if (!speaks || hear_all(id, peer, now_ms)) {
    watch_output(id, peer);
  } else {
    drop(id, now_ms);
  }
}

void LinkMembers::send(Peer& peer, Kind kind, std::string_view payload) {
  if (!peer.connection.send(kind, payload)) give_up(peer);
}

// Shuts down a connection that takes no more data. Frames that were received before, such as a
// leave message, are still handled.
void LinkMembers::give_up(Peer& peer) { ::shutdown(peer.connection.fd(), SHUT_RDWR); }

// Handles all frames that have arrived. Returns false if the connection must be dropped.
bool LinkMembers::hear_all(Id id, Peer& peer, std::int64_t now_ms) {
  const bool open = peer.connection.receive();
  LinkFrame frame;
  auto next = LinkConnection::Next::kNone;
  while ((next = peer.connection.next(frame)) == LinkConnection::Next::kFrame) {
    if (!hear(id, peer, frame, now_ms)) return false;
  }
  return open && next != LinkConnection::Next::kStranger;
}

// Handles a frame. Returns false if the connection must be dropped.
bool LinkMembers::hear(Id id, Peer& peer, const LinkFrame& frame, std::int64_t now_ms) {
  switch (peer.stage) {
    case Stage::kGreeted:
      return frame.kind == Kind::kHello && hear_hello(id, peer, frame, now_ms);
    case Stage::kMember:
      return hear_member(peer, frame, now_ms);
    case Stage::kWaiting:
    case Stage::kRefused:
      break;  // a peer that waits or was refused must not send frames
  }
  return false;
}

bool LinkMembers::hear_hello(Id id, Peer& peer, const LinkFrame& frame, std::int64_t now_ms) {
  const auto hello = base::from_wire<LinkHello>(frame.payload);
  if (!hello || hello->nonce.size() != kLinkNonceBytes) return false;
  if (!key_.fits_hello(peer.nonce, frame)) {
    const std::string who = "somebody at " + address_text(peer_address(peer.connection.fd()));
    coordinator_.differs(hello->node,
                         who + " said to be it, and has another secret or list of nodes", now_ms,
                         false);
    warning_ = stranger_text(peer, hello->node) +
               " and does not know this job: it has another secret or list of nodes, or is of "
               "another job; it is refused: end that container, or give it this job's list of "
               "nodes and --job-secret";
    return false;
  }
  peer.connection.begin_session(key_.session(peer.nonce, frame.payload, true));
  std::string().swap(peer.nonce);
  if (differs(peer, *hello, now_ms)) return true;
  if (hello->node == 0) return hear_first(peer, *hello);
  if (hello->node >= settings_.node_count) return false;
  peer.node = hello->node;
  peer.instance = hello->instance;
  compare_clocks(peer, *hello);
  const Id old = members_[peer.node];
  // The workers of one PID 1 use only one connection at a time, so the new one replaces the old
  // one.
  if (old == 0 || connections_.at(old).instance == peer.instance) {
    admit(id, now_ms);
    return true;
  }
  ask_old_one(id, peer, now_ms);
  return true;
}

std::string LinkMembers::stranger_text(const Peer& peer, std::uint32_t node) const {
  return "somebody at " + address_text(peer_address(peer.connection.fd())) + " said to be " +
         node_text(node, settings_.names);
}

// Handles the hello of a peer that says that it is node 0. Either a second node 0 has connected to
// the master's address, or this worker has connected to itself.
bool LinkMembers::hear_first(Peer& peer, const LinkHello& hello) {
  met_itself_ = met_itself_ || hello.instance == settings_.instance;
  if (hello.instance == settings_.instance) return false;
  warning_ =
      stranger_text(peer, 0) + ", as this node does, and is refused: give it its own --node-rank";
  const LinkDifference difference{
      .ends_job = true,
      .how = "another machine or container is node 0, at the master's address: give this one, " +
             address_text(peer_address(peer.connection.fd())) + ", its own --node-rank"};
  refuse(peer, base::to_wire(difference), Kind::kDiffers);
  return true;
}

// Refuses a peer that has proved the job's key, if it has a different version, list of nodes or
// number of ranks. Returns false if it has none of these differences.
bool LinkMembers::differs(Peer& peer, const LinkHello& hello, std::int64_t now_ms) {
  const std::uint32_t count = settings_.node_count;
  const auto lists = [](std::uint32_t its, const char* other, std::uint32_t others) {
    return "it has a list of " + std::to_string(its) + " nodes, and " + other + " one of " +
           std::to_string(others);
  };
  const auto ranks = [](const char* one, int ones, const char* other, int others) {
    return std::string(one) + " plans " + std::to_string(ones) + " ranks in all, and " + other +
           " " + std::to_string(others);
  };
  std::string here;  // the reason from node 0's view; `there`: from the peer's view
  std::string there;
  if (hello.version != kLinkVersion) {
    here = there = "it has another version of trainit";
  } else if (hello.node_count != count) {
    here = lists(hello.node_count, "node 0", count);
    there = lists(count, "this node", hello.node_count);
  } else if (hello.cluster != settings_.cluster && hello.world_size != settings_.world_size) {
    here = ranks("it", hello.world_size, "node 0", settings_.world_size);
    there = ranks("node 0", settings_.world_size, "this node", hello.world_size);
  } else if (hello.cluster != settings_.cluster) {
    here = there = "it has another list of nodes";
  }
  if (here.empty()) return false;
  coordinator_.differs(hello.node, here, now_ms, settings_.must_agree);
  if (!settings_.elastic) {
    warning_ = stranger_text(peer, hello.node) + " and is refused: " + here +
               (settings_.must_agree ? "; the job ends if that stays"
                                     : "; give all nodes the same list of nodes and image");
  }
  if (!settings_.must_agree) {
    refuse(peer, there);
  } else {
    const LinkDifference difference{.ends_job = coordinator_.ended_by_difference(), .how = there};
    refuse(peer, base::to_wire(difference), Kind::kDiffers);
  }
  return true;
}

// Compares the peer's clock with node 0's. The peer read its clock after node 0's greeting and
// before its hello arrived. A time outside of these two is a difference of the clocks. Each
// instance of a node is reported at most once.
void LinkMembers::compare_clocks(const Peer& peer, const LinkHello& hello) {
  if (std::exchange(compared_[hello.node], hello.instance) == hello.instance) return;
  const std::int64_t behind_ms = peer.greeted_ms - hello.clock_ms;
  const std::int64_t ahead_ms = hello.clock_ms - sys::wall_ms();
  constexpr std::size_t kMaxNamed = 16;
  if (std::max(behind_ms, ahead_ms) <= kMaxClockMs || clocks_.size() >= kMaxNamed) return;
  clocks_.push_back(node_text(hello.node, settings_.names) + " is " +
                    base::seconds(std::max(behind_ms, ahead_ms)) +
                    (ahead_ms > 0 ? " ahead" : " behind"));
}

void LinkMembers::ask_old_one(Id id, Peer& peer, std::int64_t now_ms) {
  const Id old_id = members_[peer.node];
  if (questions_.contains(peer.node)) return refuse(peer, "another one asks for this place");
  peer.stage = Stage::kWaiting;
  questions_[peer.node] = {id, now_ms + kAnswerMs};
  Peer& old_one = connections_.at(old_id);
  send(old_one, Kind::kPing);
  watch_output(old_id, old_one);
}

void LinkMembers::refuse(Peer& peer, const std::string& why, Kind how) {
  peer.stage = Stage::kRefused;
  send(peer, how, why);
}

// Refuses the newcomer that claims the place of `node`, because the connected node has answered.
void LinkMembers::answered(std::uint32_t node) {
  const auto question = questions_.find(node);
  if (question == questions_.end()) return;
  const Id id = question->second.newcomer;
  questions_.erase(question);
  Peer& newcomer = connections_.at(id);
  warning_ = stranger_text(newcomer, node) +
             ", which is connected and answers; it is refused: end that container, or give it its "
             "own --node-rank";
  refuse(newcomer, "a " + node_text(node, settings_.names) + " is connected and answers");
}

void LinkMembers::admit(Id id, std::int64_t now_ms) {
  Peer& peer = connections_.at(id);
  answered(peer.node);  // refuses a second newcomer that claims this place
  const Id old = std::exchange(members_[peer.node], id);
  if (old != 0) {
    connections_.at(old).connection.abort();
    connections_.erase(old);
  }
  strangers_.erase(id);
  peer.stage = Stage::kMember;
  silences_.erase(peer.node);  // the container may be another one
  coordinator_.connected(peer.node, peer.instance, now_ms);
  const LinkWelcome welcome{static_cast<std::uint32_t>(heartbeat_ms(settings_))};
  send(peer, Kind::kWelcome, base::to_wire(welcome));
  tell(peer, now_ms);
  watch_output(id, peer);
}

bool LinkMembers::hear_member(Peer& peer, const LinkFrame& frame, std::int64_t now_ms) {
  coordinator_.heard(peer.node, now_ms);
  answered(peer.node);
  switch (frame.kind) {
    case Kind::kHeartbeat: {
      const auto heartbeat = base::from_wire<LinkHeartbeat>(frame.payload);
      if (!heartbeat) return false;
      silences_[peer.node] = {heartbeat->silent_ms, now_ms};
      if (!peer.connection.clogged() && !peer.ended_sending) send(peer, Kind::kHeartbeat);
      return true;
    }
    case Kind::kReport: {
      const auto report = base::from_wire<lifecycle::NodeReport>(frame.payload);
      if (!report) return false;
      coordinator_.reported(peer.node, *report, now_ms);
      return true;
    }
    case Kind::kRecorder:
      return dumps_.add(frame.payload);
    case Kind::kNodes:
      return send_rows(peer, frame, now_ms);
    default:
      return false;
  }
}

LinkRows LinkMembers::rows(std::uint32_t from, std::int64_t now_ms) const {
  using Presence = lifecycle::Coordinator::Presence;
  const auto silent = [this, now_ms](std::uint32_t node) -> std::int64_t {
    if (node == settings_.node) return silent_ms(settings_);
    const auto last = silences_.find(node);
    if (last == silences_.end() || last->second.silent_ms < 0) return -1;
    const bool connected = coordinator_.presence(node) == Presence::kConnected;
    return last->second.silent_ms + (connected ? 0 : now_ms - last->second.at_ms);
  };
  return rows_of_nodes(settings_, coordinator_, silent, from, now_ms);
}

bool LinkMembers::send_rows(Peer& peer, const LinkFrame& frame, std::int64_t now_ms) {
  const auto request = base::from_wire<LinkNodesRequest>(frame.payload);
  if (!request) return false;
  if (peer.ended_sending) return true;
  // The peer asks again and again, but takes no answer.
  if (peer.connection.unsent_bytes() > kMaxUnsent) return false;
  send(peer, Kind::kRows, base::to_wire(rows(request->from, now_ms)));
  return true;
}

// Returns the encoded verdict. It is kept, because most nodes get the same verdict.
const LinkMembers::Encoded& LinkMembers::encoded(const lifecycle::NodeVerdict& verdict) {
  if (encoded_.urgent != 0 && encoded_.verdict == verdict) return encoded_;
  lifecycle::NodeVerdict compared = verdict;
  if (compared.failure) compared.failure->age_ms = 0;
  const std::hash<std::string> number;
  encoded_.verdict = verdict;
  encoded_.wire = base::to_wire(verdict);
  encoded_.whole = number(base::to_wire(compared)) | 1U;
  compared.missing = 0;
  compared.waits_for.clear();
  encoded_.urgent = number(base::to_wire(compared)) | 1U;
  return encoded_;
}

void LinkMembers::tell(Peer& peer, std::int64_t now_ms) {
  // Sent later, when the peer takes data.
  if (peer.connection.clogged() || peer.ended_sending) return;
  const Encoded& verdict = encoded(coordinator_.verdict_for(peer.node, now_ms));
  if (verdict.whole == peer.whole) return;
  const std::int64_t news_ms = peer.told_ms + news_pause_ms();
  if (verdict.urgent == peer.urgent && now_ms < news_ms) {
    news_ms_ = std::min(news_ms_.value_or(news_ms), news_ms);
    return;
  }
  peer.urgent = verdict.urgent;
  peer.whole = verdict.whole;
  peer.told_ms = now_ms;
  send(peer, Kind::kVerdict, verdict.wire);
}

// Returns the pause between two lists of missing nodes for one node. It is longer in a large job,
// whose nodes arrive one after another.
std::int64_t LinkMembers::news_pause_ms() const {
  return std::max<std::int64_t>(kNewsMs, settings_.node_count);
}

void LinkMembers::tell_all(std::int64_t now_ms) {
  const bool message = news_ms_ && now_ms >= *news_ms_;
  if ((coordinator_.version() == told_version_ && !message) || now_ms < next_tell_ms_) return;
  told_version_ = coordinator_.version();
  news_ms_.reset();
  const std::int64_t before_ms = sys::monotonic_ms();
  for (const Id id : std::vector<Id>(members_)) {
    if (id == 0) continue;
    Peer& peer = connections_.at(id);
    tell(peer, now_ms);
    watch_output(id, peer);
  }
  // If changes come quickly one after another, sending takes at most a tenth of the time. But no
  // change waits longer than kMaxPauseMs.
  constexpr std::int64_t kOfTime = 10;
  constexpr std::int64_t kMaxPauseMs = 100;
  const std::int64_t took_ms = sys::monotonic_ms() - before_ms;
  next_tell_ms_ = now_ms + std::min(took_ms * kOfTime, kMaxPauseMs);
}

void LinkMembers::tick(std::int64_t now_ms) {
  while (!strangers_.empty() && strangers_.begin()->second <= now_ms) {
    drop(strangers_.begin()->first, now_ms);
  }
  std::vector<std::uint32_t> unanswered;
  for (const auto& [node, question] : questions_) {
    if (question.deadline_ms <= now_ms) unanswered.push_back(node);
  }
  for (const std::uint32_t node : unanswered) drop(members_[node], now_ms);
}

std::optional<std::int64_t> LinkMembers::next_ms() const {
  std::optional<std::int64_t> next_ms = news_ms_;
  auto no_later = [&next_ms](std::int64_t at_ms) {
    next_ms = std::min(next_ms.value_or(at_ms), at_ms);
  };
  if (!strangers_.empty()) no_later(strangers_.begin()->second);
  for (const auto& [node, question] : questions_) no_later(question.deadline_ms);
  if (coordinator_.version() != told_version_) no_later(next_tell_ms_);
  return next_ms;
}

void LinkMembers::watch_output(Id id, Peer& peer) {
  if (seen_off_ && !peer.connection.clogged() && !std::exchange(peer.ended_sending, true)) {
    peer.connection.end_sending();
  }
  const bool wanted = peer.connection.clogged();
  if (wanted == peer.watches_output) return;
  peer.watches_output = wanted;
  epoll_event event{.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.u64 = id}};
  ::epoll_ctl(poller_, EPOLL_CTL_MOD, peer.connection.fd(), &event);
}

void LinkMembers::drop(Id id, std::int64_t now_ms) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const Peer peer = std::move(found->second);
  connections_.erase(found);
  strangers_.erase(id);
  const auto question = questions_.find(peer.node);
  if (peer.stage == Stage::kWaiting && question != questions_.end()) questions_.erase(question);
  if (peer.stage != Stage::kMember) return;
  members_[peer.node] = 0;
  coordinator_.closed(peer.node, now_ms);
  if (question == questions_.end()) return;
  const Id newcomer = question->second.newcomer;
  questions_.erase(question);
  admit(newcomer, now_ms);
}

void LinkMembers::see_off(std::int64_t now_ms) {
  while (drop_oldest_stranger(now_ms)) {
  }
  next_tell_ms_ = 0;
  told_version_ = 0;
  tell_all(now_ms);
  seen_off_ = true;
  for (auto& [id, peer] : connections_) watch_output(id, peer);
}

std::optional<std::string> LinkMembers::take_warning() {
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!clocks_.empty() && (!clocks_told_ms_ || now_ms - *clocks_told_ms_ >= kWarnMs)) {
    clocks_told_ms_ = now_ms;
    const std::string text =
        "clocks differ from node 0's: " + base::joined(std::exchange(clocks_, {}), ", ");
    return text +
           "; their times in logs and reports do not fit: see the time service of those "
           "machines (chronyc tracking, timedatectl)";
  }
  if (warning_.empty()) return std::nullopt;
  std::string warning = std::exchange(warning_, {});
  constexpr std::size_t kMaxKnown = 64;
  const bool soon = warned_ms_ && now_ms - *warned_ms_ < kWarnMs;
  if (soon || warned_.contains(warning)) return std::nullopt;
  if (warned_.size() < kMaxKnown) warned_.insert(warning);
  warned_ms_ = now_ms;
  return warning;
}

}  // namespace engine
