#pragma once
// Node 0's connections to the other nodes. LinkMembers knows which peers have connected, which have
// proved their identity, and the last verdict that each got. It passes their reports to the
// Coordinator, and sends them its verdicts.
//
// A stranger is a peer that has not proved its identity yet. It costs a descriptor and some 200
// bytes, for ten seconds at most. If there are too many strangers, the oldest is dropped. A member
// is a node that has proved it. If a second process with another `instance` (process instance id)
// claims to be a connected node, the first one is asked. Only if it does not answer, the second one
// replaces it.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "init/engine/cluster/hang_dumps.h"
#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_settings.h"
#include "lifecycle/coordinator.h"

namespace engine {

std::int64_t heartbeat_ms(const LinkSettings& settings);

class LinkMembers {
 public:
  using Id = std::uint64_t;
  // Id of the first connection in `poller`; ids below are the caller's.
  static constexpr Id kFirstId = 1024;

  LinkMembers(const LinkSettings& settings, lifecycle::Coordinator& coordinator, HangDumps& dumps,
              int poller);

  // Accepts connections. Returns false if one had to stay unaccepted, because no descriptor is
  // free.
  bool accept_all(int listener, std::int64_t now_ms);
  void ready(Id id, std::uint32_t events, std::int64_t now_ms);
  void tick(std::int64_t now_ms);
  // Sends each node its verdict if it has changed. A change only of the missing nodes is sent after
  // a pause, any other change at once.
  void tell_all(std::int64_t now_ms);
  // Returns when tick() or tell_all() is due.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;

  // Ends all connections. Drops strangers at once. Sends each member the last verdict as soon as it
  // takes data, and then closes the sending side. Call ready() until all_gone().
  void see_off(std::int64_t now_ms);
  [[nodiscard]] bool all_gone() const { return connections_.empty(); }
  // True if node 0 has connected to itself through the master's address. So no other node 0 is at
  // that address.
  [[nodiscard]] bool met_itself() const { return met_itself_; }

  // Returns the rows of `trainit status --cluster` from this node on.
  [[nodiscard]] LinkRows rows(std::uint32_t from, std::int64_t now_ms) const;

  // Returns a warning for the log if one is due: at most one a minute, and one more about clocks
  // that differ.
  std::optional<std::string> take_warning();

 private:
  enum class Stage : unsigned char { kGreeted, kWaiting, kMember, kRefused };
  struct Peer {
    LinkConnection connection;
    Stage stage = Stage::kGreeted;
    bool watches_output = false;
    bool ended_sending = false;
    std::uint32_t node = 0;
    std::uint64_t instance = 0;
    std::string nonce;            // kGreeted: the nonce that was sent to the peer
    std::int64_t greeted_ms = 0;  // time of the greeting, wall clock
    // Hash of the last verdict without its missing nodes; 0: none was sent.
    std::uint64_t urgent = 0;
    std::uint64_t whole = 0;
    std::int64_t told_ms = 0;
  };
  struct Question {
    Id newcomer = 0;
    std::int64_t deadline_ms = 0;
  };
  struct Encoded {
    lifecycle::NodeVerdict verdict;
    std::string wire;
    std::uint64_t urgent = 0;
    std::uint64_t whole = 0;
  };

  bool hear_all(Id id, Peer& peer, std::int64_t now_ms);
  bool hear(Id id, Peer& peer, const LinkFrame& frame, std::int64_t now_ms);
  bool hear_hello(Id id, Peer& peer, const LinkFrame& frame, std::int64_t now_ms);
  bool hear_member(Peer& peer, const LinkFrame& frame, std::int64_t now_ms);
  bool differs(Peer& peer, const LinkHello& hello, std::int64_t now_ms);
  bool hear_first(Peer& peer, const LinkHello& hello);
  void compare_clocks(const Peer& peer, const LinkHello& hello);
  void ask_old_one(Id id, Peer& peer, std::int64_t now_ms);
  void answered(std::uint32_t node);
  void admit(Id id, std::int64_t now_ms);
  void refuse(Peer& peer, const std::string& why, LinkFrame::Kind how = LinkFrame::Kind::kRefused);
  [[nodiscard]] std::string stranger_text(const Peer& peer, std::uint32_t node) const;
  bool send_rows(Peer& peer, const LinkFrame& frame, std::int64_t now_ms);
  void tell(Peer& peer, std::int64_t now_ms);
  static void send(Peer& peer, LinkFrame::Kind kind, std::string_view payload = {});
  static void give_up(Peer& peer);
  const Encoded& encoded(const lifecycle::NodeVerdict& verdict);
  void watch_output(Id id, Peer& peer);
  void drop(Id id, std::int64_t now_ms);
  bool drop_oldest_stranger(std::int64_t now_ms);
  [[nodiscard]] std::int64_t news_pause_ms() const;

  const LinkSettings& settings_;
  lifecycle::Coordinator& coordinator_;
  HangDumps& dumps_;
  int poller_;
  LinkKey key_;
  Id next_id_ = kFirstId;
  std::unordered_map<Id, Peer> connections_;
  std::map<Id, std::int64_t> strangers_;  // strangers with their deadlines; the oldest first
  struct Silence {
    std::int64_t silent_ms = -1;  // LinkHeartbeat::silent_ms
    std::int64_t at_ms = 0;       // time at which it came
  };
  std::map<std::uint32_t, Silence> silences_;  // last heartbeats, by node
  std::vector<Id> members_;                    // connection of each node, by rank; 0: not connected
  // Newcomer that claims to be a node, by the node's rank.
  std::map<std::uint32_t, Question> questions_;
  Encoded encoded_;
  std::uint64_t told_version_ = 0;
  std::int64_t next_tell_ms_ = 0;
  std::optional<std::int64_t> news_ms_;  // when a changed list of missing nodes is due
  bool seen_off_ = false;
  bool met_itself_ = false;
  std::string warning_;
  std::vector<std::string> clocks_;  // clock differences to be reported
  // Instance of each node whose clock was compared last, by rank.
  std::vector<std::uint64_t> compared_;
  std::optional<std::int64_t> clocks_told_ms_;
  std::optional<std::int64_t> warned_ms_;
  // Warnings that were given, as each attempt of a stranger would repeat one.
  std::set<std::string> warned_;
};

}  // namespace engine
