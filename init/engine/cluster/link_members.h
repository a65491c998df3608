#pragma once
// The connections of node 0: who has connected, who has shown who it is, and what each was told
// last. What is said goes to the Coordinator and comes from it.
//
// Whoever connects costs a descriptor and some 200 bytes until it has shown who it is, for ten
// seconds at most; when there are too many the oldest goes. A node that is connected is never
// replaced by one with another life as long as it answers.

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
  static constexpr Id kFirstId = 1024;  // of a connection in `poller`; those below are the caller's

  LinkMembers(const LinkSettings& settings, lifecycle::Coordinator& coordinator, HangDumps& dumps,
              int poller);

  // False: there is no descriptor for one more.
  bool accept_all(int listener, std::int64_t now_ms);
  void ready(Id id, std::uint32_t events, std::int64_t now_ms);
  void tick(std::int64_t now_ms);
  // Tells all what is another verdict than before: at once what matters, and from time to time who
  // is missing.
  void tell_all(std::int64_t now_ms);
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;  // when tick or tell_all has work

  // The farewell: those that have not shown who they are go, the others are told, whatever it is
  // that they do not take yet.
  void see_off(std::int64_t now_ms);
  [[nodiscard]] bool all_gone() const { return connections_.empty(); }
  // True if this node has connected to itself, by the master's address.
  [[nodiscard]] bool met_itself() const { return met_itself_; }

  // What people should know, and have not been told within the last minute.
  std::optional<std::string> take_warning();

 private:
  enum class Stage : unsigned char { kGreeted, kWaiting, kMember, kRefused };
  struct Peer {
    LinkConnection connection;
    Stage stage = Stage::kGreeted;
    bool watches_output = false;
    bool ended_sending = false;
    std::uint32_t node = 0;
    std::uint64_t life = 0;
    std::string nonce;            // kGreeted
    std::int64_t greeted_ms = 0;  // by the wall clock
    std::uint64_t urgent = 0;     // what it was told last, as numbers; 0: nothing
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
  std::map<Id, std::int64_t> strangers_;         // and their deadlines; the oldest first
  std::vector<Id> members_;                      // by node; 0: not connected
  std::map<std::uint32_t, Question> questions_;  // by node: who else says that it is this one
  Encoded encoded_;
  std::uint64_t told_version_ = 0;
  std::int64_t next_tell_ms_ = 0;
  std::optional<std::int64_t> news_ms_;  // when somebody is due to hear who is missing
  bool seen_off_ = false;
  bool met_itself_ = false;
  std::string warning_;
  std::vector<std::string> clocks_;      // that differ, to be told
  std::vector<std::uint64_t> compared_;  // by node: the life whose clock was looked at
  std::optional<std::int64_t> clocks_told_ms_;
  std::optional<std::int64_t> warned_ms_;
  std::set<std::string> warned_;  // each attempt of a stranger would say the same
};

}  // namespace engine
