#include "envgen/failure/recorder_verdict.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/printed_text.h"

namespace envgen {
namespace {

// Time for which an operation must be pending when a dump is written, to count as hanging. The
// clocks of the nodes must differ by less.
constexpr std::int64_t kSettledMs = 1000;
constexpr std::size_t kMaxTextBytes = 400;
constexpr std::size_t kMaxNamed = 8;
constexpr std::size_t kMaxAwaited = 64;   // maximum number of ranks that a rank awaits in a group;
                                          // if there are more, they count as unknown
constexpr std::size_t kMaxCompared = 16;  // maximum number of ranks with which a rank of a ring is
                                          // compared
constexpr std::int64_t kUnknown = -1;

// Returns true if a member can finish the operation only after all members have taken part.
bool needs_all(std::string_view name) {
  return name.starts_with("all") || name.starts_with("reduce_scatter") || name == "barrier";
}

// Returns true if all members of the group give or get the same number of elements.
bool has_equal_sizes(std::string_view name) {
  constexpr auto kEqual = std::to_array<std::string_view>(
      {"all_reduce", "allreduce", "broadcast", "reduce", "all_gather", "reduce_scatter"});
  return std::ranges::find(kEqual, name) != kEqual.end();
}

std::string text_of_operation(const PendingOperation& operation) {
  return operation.name + " " + std::to_string(operation.sequence);
}

std::string text_of_group(const RecordedGroup& group) {
  return "group " + (group.description.empty() ? group.name : group.description);
}

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kMaxNamed; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMaxNamed)
    text += " and " + std::to_string(ranks.size() - kMaxNamed) + " more";
  return text;
}

std::string counted_ranks_wait(std::size_t count) {
  return count == 1 ? "1 rank waits" : std::to_string(count) + " ranks wait";
}

// Returns true if the operation `wait` of one rank is pending on `other` too, before index `until`.
// The operations must have the same name and number, in the same group or in groups with the same
// description.
bool same_before(const RecorderDump& other, std::size_t until, const RecorderDump& own,
                 const PendingOperation& wait) {
  const RecordedGroup& group = own.groups[wait.group];
  return std::ranges::any_of(std::span(other.pending).first(until), [&](const auto& one) {
    const RecordedGroup& its = other.groups[one.group];
    const bool same_group = its.name == group.name ||
                            (!group.description.empty() && its.description == group.description);
    return same_group && one.name == wait.name && one.sequence == wait.sequence &&
           one.is_transfer() == wait.is_transfer();
  });
}

// A member of a group, with what its dump shows.
struct Member {
  std::size_t dump = 0;  // index in the list of dumps
  int rank = -1;
  std::int64_t entered = kUnknown;   // highest number of a collective that this member has enqueued
  std::int64_t finished = kUnknown;  // highest number of a collective that this member has seen
                                     // finish
  // Indexes of the pending collectives of this group in the dump.
  std::optional<std::size_t> first = std::nullopt, last = std::nullopt;
  bool tells_starts = false;  // the dump shows which operations have started
};

struct Group {
  const RecordedGroup* info = nullptr;
  std::vector<int> ranks;
  std::vector<Member> members;  // ranks with a dump
  std::vector<int> missing;     // ranks of the group without a dump
  bool transfers = false;       // the counters may include transfers
  bool consistent = true;       // false: the dumps contradict each other about its members
};

// An operation in which others wait for a rank.
struct Accusation {
  const RecordedGroup* group = nullptr;
  std::string operation = {};
  std::int64_t created_ms = 0;
  std::size_t waiting = 0;  // number of waiting ranks
  std::size_t absent = 0;   // number of ranks that have not entered the operation
  bool transfer = false;
  bool not_started = false;  // the rank has entered it, but its device has not started it
  int waiter = -1;           // the rank that waits, for a transfer
};

// The waits of a rank that has written a dump.
struct Place {
  std::vector<std::size_t> awaits;  // indexes of the dumps of the ranks for which it waits
  // True if the rank also waits for one without a dump, or in a group that cannot be judged.
  bool awaits_missing = false;
  bool stuck = false;   // it is stopped in an operation that all members have entered
  bool lags = false;    // another rank has finished an operation that is pending here
  bool frozen = false;  // the end of its operations cannot be seen any more
  std::optional<std::size_t> stands_at;  // if frozen: index of the operation at which it stands
  bool not_started = false;  // its device has not started its first operation, though others have
  bool awaited = false;
  std::optional<Accusation> accusation;  // that with the most waiting ranks; nullopt: none
};

class Judge {
 public:
  Judge(std::span<const RecorderDump> dumps, int world_size);
  RecorderVerdict judge();

 private:
  using Key = std::tuple<std::string_view, int, int>;  // name of the group, sending rank, receiving
                                                       // rank

  void collect_groups();
  void add_member(Group& group, std::size_t dump, std::size_t place);
  void complete_members(Group& group);
  void find_frozen(const Group& group);
  void collectives_of(const Group& group);
  [[nodiscard]] bool has_not_started(const Member& member, const Member& other) const;
  void find_not_started(const Group& group);
  static void accuse_of(Place& place, Accusation accusation);
  [[nodiscard]] const PendingOperation* pending_from(const Member& member,
                                                     std::int64_t number) const;
  [[nodiscard]] bool is_alone_in(const Group& group, const Member& member) const;
  void wait_in(const Group& group, const Member& member);
  void accuse(const Group& group);
  void wait_for_late_members(const Group& group, const Member& member);
  void transfers();
  void wait_in_transfer(std::size_t dump, std::size_t place, bool first);
  [[nodiscard]] std::size_t posted(std::size_t dump, const PendingOperation& operation) const;
  [[nodiscard]] const PendingOperation* counterpart(std::size_t dump,
                                                    const PendingOperation& operation) const;
  void accuse_transfer(std::size_t dump, std::size_t of, const PendingOperation& operation);
  [[nodiscard]] std::vector<bool> rings() const;
  [[nodiscard]] bool waits_did_not_stop(std::size_t dump) const;
  void find_mismatch(const Group& group);
  [[nodiscard]] std::string text_of(std::size_t dump) const;
  void name(RecorderVerdict& verdict) const;
  void say(RecorderVerdict& verdict) const;

  // Returns true if the dump was written at least kSettledMs after the operation was enqueued, or
  // if one of the times is unknown.
  [[nodiscard]] static bool has_settled(const PendingOperation& operation,
                                        const RecorderDump& dump) {
    return dump.written_ms == 0 || operation.created_ms == 0 ||
           operation.created_ms + kSettledMs <= dump.written_ms;
  }
  // Returns true if `dump` was written much later than `than`, so that it can contain events that
  // had not happened when `than` was written.
  [[nodiscard]] static bool is_later(const RecorderDump& dump, const RecorderDump& than) {
    return than.written_ms != 0 && dump.written_ms > than.written_ms + kSettledMs;
  }
  [[nodiscard]] const PendingOperation& operation(std::size_t dump, std::size_t place) const {
    return dumps_[dump]->pending[place];
  }

  std::vector<const RecorderDump*> dumps_;  // the latest dump of each rank, in ascending order of
                                            // ranks
  std::map<int, std::size_t> by_rank_;
  std::map<std::string_view, Group> groups_;
  std::vector<Place> places_;
  std::set<int> missing_;
  std::string mismatch_;
  int world_size_;
};

Judge::Judge(std::span<const RecorderDump> dumps, int world_size) : world_size_(world_size) {
  std::map<int, const RecorderDump*> latest;
  for (const RecorderDump& dump : dumps) {
    // Checks the indexes, because a dump from another node is not trusted.
    const bool sound = std::ranges::all_of(dump.pending, [&dump](const PendingOperation& one) {
      return one.group < dump.groups.size();
    });
    if (!sound || dump.rank < 0 || (world_size > 0 && dump.rank >= world_size)) continue;
    const RecorderDump*& known = latest[dump.rank];
    if (known == nullptr || known->written_ms < dump.written_ms) known = &dump;
  }
  for (const auto& [rank, dump] : latest) {
    by_rank_.emplace(rank, dumps_.size());
    dumps_.push_back(dump);
  }
  places_.resize(dumps_.size());
}

void Judge::add_member(Group& group, std::size_t dump, std::size_t place) {
  const RecorderDump& from = *dumps_[dump];
  const RecordedGroup& info = from.groups[place];
  if (group.info == nullptr) {
    group.info = &info;
    group.ranks = members_of(info);
  } else if (info.ranks != group.info->ranks) {
    group.consistent = false;
  }
  group.transfers = group.transfers || info.point_to_point;
  Member member{.dump = dump, .rank = from.rank};
  for (std::size_t i = 0; i < from.pending.size(); ++i) {
    if (from.pending[i].group != place || from.pending[i].is_transfer()) continue;
    if (!member.first) member.first = i;
    member.last = i;
  }
  member.entered = info.seen;
  member.finished = info.completed;
  member.tells_starts = info.started >= 0;
  group.members.push_back(member);
}

// Completes a group after all dumps were read: interprets its counters, and finds members without a
// dump.
void Judge::complete_members(Group& group) {
  std::vector<int> seen;
  for (Member& member : group.members) {
    const RecorderDump& dump = *dumps_[member.dump];
    seen.push_back(member.rank);
    const auto own = std::ranges::find(dump.groups, group.info->name, &RecordedGroup::name);
    if (!group.transfers) member.entered = std::max(member.entered, own->enqueued);
    const bool never = member.entered < 0 && own->enqueued < 0 && dump.all_groups;
    if (never) member.entered = 0;
    if (group.transfers) member.finished = kUnknown;
    if (member.first) {
      member.entered = std::max(member.entered, operation(member.dump, *member.last).sequence);
      member.finished =
          std::min(member.finished, operation(member.dump, *member.first).sequence - 1);
    }
  }
  for (const int rank : group.ranks) {
    if (std::ranges::binary_search(seen, rank)) continue;
    const auto found = by_rank_.find(rank);
    if (found == by_rank_.end()) {
      if (world_size_ == 0 || rank < world_size_) group.missing.push_back(rank);
      continue;
    }
    // A rank whose dump has all its groups, but not this one, has never used the group.
    const bool never = dumps_[found->second]->all_groups;
    group.members.push_back({.dump = found->second,
                             .rank = rank,
                             .entered = never ? 0 : kUnknown,
                             .finished = never ? 0 : kUnknown});
  }
}

void Judge::collect_groups() {
  for (std::size_t dump = 0; dump < dumps_.size(); ++dump) {
    for (std::size_t place = 0; place < dumps_[dump]->groups.size(); ++place) {
      add_member(groups_[dumps_[dump]->groups[place].name], dump, place);
    }
  }
  for (auto& [name, group] : groups_) complete_members(group);
}

// Finds members with two pending collectives of which another member has finished the second. The
// second could end only after the first had ended on all members.
void Judge::find_frozen(const Group& group) {
  if (!group.consistent) return;
  for (const Member& member : group.members) {
    if (!member.first) continue;
    // Finds the highest number that another member has finished. Higher numbers than this member
    // has entered are ignored, because no other member can have finished those.
    std::int64_t finished = kUnknown;
    const RecorderDump& dump = *dumps_[member.dump];
    for (const Member& other : group.members) {
      const bool useless = other.dump == member.dump || other.finished > member.entered ||
                           is_later(*dumps_[other.dump], dump);
      if (useless) continue;
      finished = std::max(finished, other.finished);
    }
    const PendingOperation& first = dump.pending[*member.first];
    if (first.sequence <= finished) places_[member.dump].lags = true;
    for (std::size_t i = *member.first + 1; i <= *member.last; ++i) {
      const PendingOperation& next = dump.pending[i];
      const bool proof = next.group == first.group && !next.is_transfer() &&
                         next.sequence > first.sequence && next.sequence <= finished &&
                         needs_all(next.name) && has_settled(next, dump);
      if (!proof) continue;
      Place& place = places_[member.dump];
      place.frozen = true;
      if (!place.stands_at || *member.first < *place.stands_at) place.stands_at = member.first;
      break;
    }
  }
}

// Returns true if the device of `member` has not started its first operation, which the device of
// `other` has started.
bool Judge::has_not_started(const Member& member, const Member& other) const {
  if (member.first != 0U || !member.tells_starts || !other.first) return false;
  const PendingOperation& own = operation(member.dump, 0);
  const PendingOperation& its = operation(other.dump, *other.first);
  return !own.started && its.started && its.sequence == own.sequence &&
         has_settled(its, *dumps_[other.dump]) && has_settled(its, *dumps_[member.dump]) &&
         !is_later(*dumps_[other.dump], *dumps_[member.dump]);
}

// Finds each member for which all others wait at the first operation of its device.
void Judge::find_not_started(const Group& group) {
  std::size_t started = 0;
  std::vector<const Member*> behind;
  for (const Member& member : group.members) {
    if (member.first && operation(member.dump, *member.first).started) ++started;
  }
  if (started == 0) return;
  for (const Member& member : group.members) {
    const bool is_behind = std::ranges::any_of(
        group.members, [&](const Member& other) { return has_not_started(member, other); });
    if (is_behind) behind.push_back(&member);
  }
  if (behind.size() > started) return;
  for (const Member* member : behind) {
    Place& place = places_[member->dump];
    place.not_started = true;
    accuse_of(place, {.group = group.info,
                      .operation = text_of_operation(operation(member->dump, 0)),
                      .created_ms = operation(member->dump, 0).created_ms,
                      .waiting = started,
                      .absent = behind.size(),
                      .not_started = true});
  }
}

// Keeps the operation with the most waiting ranks; among equals, the oldest.
void Judge::accuse_of(Place& place, Accusation accusation) {
  place.awaited = true;
  const bool better = !place.accusation || place.accusation->transfer ||
                      place.accusation->waiting < accusation.waiting ||
                      (place.accusation->waiting == accusation.waiting &&
                       accusation.created_ms < place.accusation->created_ms);
  if (better) place.accusation = std::move(accusation);
}

// Adds waits of `member` for the other members whose device has not reached its operation.
void Judge::wait_for_late_members(const Group& group, const Member& member) {
  const std::int64_t number = operation(member.dump, *member.first).sequence;
  Place& place = places_[member.dump];
  std::size_t late = 0;
  for (const Member& other : group.members) {
    if (other.dump == member.dump || !other.first || other.finished >= number) continue;
    Place& its = places_[other.dump];
    if (!its.frozen && *other.first == 0 && !has_not_started(other, member)) continue;
    if (its.frozen) its.awaited = true;
    if (++late <= kMaxAwaited) place.awaits.push_back(other.dump);
  }
  if (late > kMaxAwaited) place.awaits_missing = true;
  if (late == 0) place.stuck = true;
}

// Returns true if all other members have finished all operations that are pending on this member.
// Then it does not wait for them.
bool Judge::is_alone_in(const Group& group, const Member& member) const {
  const PendingOperation& last = operation(member.dump, *member.last);
  return needs_all(last.name) && std::ranges::all_of(group.members, [&](const Member& other) {
           return other.dump == member.dump ||
                  (other.finished >= last.sequence &&
                   !is_later(*dumps_[other.dump], *dumps_[member.dump]));
         });
}

void Judge::wait_in(const Group& group, const Member& member) {
  Place& place = places_[member.dump];
  const PendingOperation& last = operation(member.dump, *member.last);
  std::size_t absent = 0;
  for (const Member& other : group.members) {
    if (other.dump == member.dump || other.entered >= last.sequence) continue;
    if (++absent > kMaxAwaited || other.entered == kUnknown) {
      place.awaits_missing = true;
    } else {
      place.awaits.push_back(other.dump);
    }
  }
  if (!group.missing.empty()) {
    place.awaits_missing = true;
    // If all members with a dump have entered the operation, only a member without a dump can block
    // it.
    const bool counts = absent == 0 && has_settled(last, *dumps_[member.dump]);
    if (counts) missing_.insert(group.missing.begin(), group.missing.end());
  } else if (absent == 0 && !place.frozen && !place.not_started && !is_alone_in(group, member)) {
    wait_for_late_members(group, member);
  }
}

// Returns the member's oldest pending collective with at least this number, or nullptr.
const PendingOperation* Judge::pending_from(const Member& member, std::int64_t number) const {
  if (!member.last || operation(member.dump, *member.last).sequence < number) return nullptr;
  const auto& pending = dumps_[member.dump]->pending;
  const std::uint32_t group = pending[*member.first].group;
  const auto found =
      std::find_if(pending.begin() + static_cast<std::ptrdiff_t>(*member.first), pending.end(),
                   [group, number](const PendingOperation& one) {
                     return one.group == group && !one.is_transfer() && one.sequence >= number;
                   });
  return found == pending.end() ? nullptr : &*found;
}

// Accuses each member that has not entered the next collective, if others wait in it.
void Judge::accuse(const Group& group) {
  struct Next {
    std::vector<const PendingOperation*> waits;  // one operation for each waiting rank
    std::size_t absent = 0;
  };
  std::map<std::int64_t, Next> all;  // key: the number of the next collective
  for (const Member& member : group.members) {
    if (member.entered != kUnknown) all.try_emplace(member.entered + 1);
  }
  for (auto& [number, next] : all) {
    for (const Member& other : group.members) {
      if (other.entered != kUnknown && other.entered < number) ++next.absent;
      const PendingOperation* wait = pending_from(other, number);
      if (wait != nullptr && has_settled(*wait, *dumps_[other.dump])) next.waits.push_back(wait);
    }
  }
  for (const Member& member : group.members) {
    const auto next = all.find(member.entered + 1);
    if (member.entered == kUnknown || next->second.waits.empty()) continue;
    Accusation accusation{.group = group.info, .absent = next->second.absent};
    for (const PendingOperation* wait : next->second.waits) {
      if (!has_settled(*wait, *dumps_[member.dump])) continue;
      if (accusation.waiting++ > 0) continue;
      accusation.operation = text_of_operation(*wait);
      accusation.created_ms = wait->created_ms;
    }
    // If more ranks are absent than wait, the waiting ranks may be the ones in the wrong place.
    const bool counts = accusation.waiting > 0 && accusation.absent <= accusation.waiting;
    if (counts) accuse_of(places_[member.dump], std::move(accusation));
  }
}

void Judge::collectives_of(const Group& group) {
  for (const Member& member : group.members) {
    if (!member.first) continue;
    if (group.consistent) {
      wait_in(group, member);
    } else {
      places_[member.dump].awaits_missing = true;
    }
  }
  if (group.consistent) accuse(group);
}

// Returns the number of pending transfers of a rank with this direction, group and peer.
std::size_t Judge::posted(std::size_t dump, const PendingOperation& operation) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(dumps_[dump]->pending, [&operation](const PendingOperation& other) {
        return other.group == operation.group && other.peer == operation.peer &&
               other.name == operation.name;
      }));
}

// Returns the peer's first pending transfer that is the other end of `operation`, or nullptr.
const PendingOperation* Judge::counterpart(std::size_t dump,
                                           const PendingOperation& operation) const {
  const RecorderDump& own = *dumps_[dump];
  const RecorderDump& peer = *dumps_[by_rank_.at(operation.peer)];
  const std::string_view name = operation.name == "send" ? "recv" : "send";
  const auto found = std::ranges::find_if(peer.pending, [&](const PendingOperation& other) {
    return other.peer == own.rank && other.name == name &&
           peer.groups[other.group].name == own.groups[operation.group].name;
  });
  return found == peer.pending.end() ? nullptr : &*found;
}

void Judge::accuse_transfer(std::size_t dump, std::size_t of, const PendingOperation& operation) {
  const bool settled = has_settled(operation, *dumps_[of]) && has_settled(operation, *dumps_[dump]);
  if (!settled) return;
  Place& place = places_[of];
  place.awaited = true;
  if (place.accusation) return;
  place.accusation = Accusation{.group = &dumps_[dump]->groups[operation.group],
                                .operation = operation.name == "send" ? "received from" : "sent to",
                                .waiting = 1,
                                .absent = 1,
                                .transfer = true,
                                .waiter = dumps_[dump]->rank};
}

void Judge::wait_in_transfer(std::size_t dump, std::size_t place, bool first) {
  const PendingOperation& own = operation(dump, place);
  const auto peer = by_rank_.find(own.peer);
  if (peer == by_rank_.end()) {
    places_[dump].awaits_missing = true;
    if (first && has_settled(own, *dumps_[dump])) missing_.insert(own.peer);
    return;
  }
  const PendingOperation* other = counterpart(dump, own);
  const std::size_t there = other == nullptr ? 0 : posted(peer->second, *other);
  Place& at = places_[dump];
  if (places_[peer->second].frozen) {
    at.awaits.push_back(peer->second);
    places_[peer->second].awaited = true;
  } else if (posted(dump, own) > there) {
    at.awaits.push_back(peer->second);
    accuse_transfer(dump, peer->second, own);
  } else if (other != dumps_[peer->second]->pending.data()) {
    at.awaits.push_back(peer->second);
  } else {
    at.stuck = true;
  }
}

// Judges the transfers of each rank before its first collective. Later transfers may wait for that
// collective.
void Judge::transfers() {
  for (std::size_t dump = 0; dump < dumps_.size(); ++dump) {
    if (places_[dump].frozen || places_[dump].not_started) continue;
    std::vector<std::pair<int, std::string_view>> seen;
    const auto& pending = dumps_[dump]->pending;
    for (std::size_t i = 0; i < pending.size() && pending[i].is_transfer(); ++i) {
      const std::pair<int, std::string_view> way(pending[i].peer, pending[i].name);
      if (std::ranges::find(seen, way) != seen.end()) continue;
      seen.push_back(way);
      wait_in_transfer(dump, i, i == 0);
    }
  }
}

// Returns for each rank whether it is in a ring, so that its waits have no end. An end is a rank
// that waits for no rank, a rank without a dump, or an operation that all have entered.
std::vector<bool> Judge::rings() const {
  std::vector<std::vector<std::size_t>> awaited_by(places_.size());
  std::vector<std::size_t> next;
  std::vector<bool> ends(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (const std::size_t other : places_[i].awaits) awaited_by[other].push_back(i);
    const Place& place = places_[i];
    ends[i] = place.awaits.empty() || place.awaits_missing || place.stuck || place.frozen ||
              place.not_started;
    if (ends[i]) next.push_back(i);
  }
  while (!next.empty()) {
    const std::size_t i = next.back();
    next.pop_back();
    for (const std::size_t other : awaited_by[i]) {
      if (ends[other]) continue;
      ends[other] = true;
      next.push_back(other);
    }
  }
  ends.flip();
  return ends;
}

// Returns true if the waits of a rank do not explain why it has not entered a collective: another
// rank has the same operations pending, and has entered it.
bool Judge::waits_did_not_stop(std::size_t dump) const {
  const RecorderDump& own = *dumps_[dump];
  if (places_[dump].lags) return false;
  for (const auto& [name, group] : groups_) {
    const auto self = std::ranges::find(group.members, dump, &Member::dump);
    if (self == group.members.end() || self->entered == kUnknown || !group.consistent) continue;
    std::size_t compared = 0;
    for (const Member& other : group.members) {
      const bool useless =
          places_[other.dump].lags || pending_from(other, self->entered + 1) == nullptr;
      if (useless || ++compared > kMaxCompared) continue;
      const RecorderDump& there = *dumps_[other.dump];
      const PendingOperation* entered = pending_from(other, self->entered + 1);
      const auto until = static_cast<std::size_t>(entered - there.pending.data());
      const bool all = std::ranges::all_of(own.pending, [&](const PendingOperation& wait) {
        return same_before(there, until, own, wait);
      });
      if (all) return true;
    }
  }
  return false;
}

// Finds members that run different operations as the same collective.
void Judge::find_mismatch(const Group& group) {
  if (!mismatch_.empty() || !group.consistent) return;
  struct Seen {
    const PendingOperation* operation;
    int rank;
  };
  std::map<std::int64_t, Seen> first;
  for (const Member& member : group.members) {
    if (!member.first) continue;
    const RecorderDump& dump = *dumps_[member.dump];
    for (std::size_t i = *member.first; i <= *member.last; ++i) {
      const PendingOperation& one = dump.pending[i];
      if (one.is_transfer() || one.group != dump.pending[*member.first].group) continue;
      const auto [known, added] = first.emplace(one.sequence, Seen{&one, dump.rank});
      const PendingOperation& other = *known->second.operation;
      const bool names = one.name != other.name;
      const bool sizes = !names && has_equal_sizes(one.name) && one.elements_in >= 0 &&
                         other.elements_in >= 0 && one.elements_in != other.elements_in;
      if (!names && !sizes) continue;
      const auto said = [sizes](const PendingOperation& what, int rank) {
        std::string text = "rank " + std::to_string(rank) + " runs " + what.name;
        if (sizes) text += " of " + std::to_string(what.elements_in) + " elements";
        return text;
      };
      mismatch_ = "collective " + std::to_string(one.sequence) + " of " +
                  text_of_group(*group.info) + " differs: " + said(other, known->second.rank) +
                  ", " + said(one, dump.rank);
      return;
    }
  }
}

std::string Judge::text_of(std::size_t dump) const {
  const Place& place = places_[dump];
  const RecorderDump& own = *dumps_[dump];
  std::string text = "rank " + std::to_string(own.rank) + " ";
  if (place.accusation && !place.accusation->transfer) {
    const Accusation& by = *place.accusation;
    return text + (by.not_started ? "has not started " : "has not entered ") + by.operation +
           " of " + text_of_group(*by.group) + ", in which " + counted_ranks_wait(by.waiting);
  }
  if (place.frozen) {
    const PendingOperation& at = own.pending[*place.stands_at];
    return text + "has not seen the end of " + text_of_operation(at) + " of " +
           text_of_group(own.groups[at.group]) + ", which others have finished";
  }
  const Accusation& by = *place.accusation;
  return text + "has not " + by.operation + " rank " + std::to_string(by.waiter) + " in " +
         text_of_group(*by.group);
}

void Judge::name(RecorderVerdict& verdict) const {
  const std::vector<bool> in_ring = rings();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (!place.awaited) continue;
    const bool is_end = place.awaits.empty() && !place.awaits_missing && !place.stuck &&
                        place.accusation.has_value();
    const bool free =
        in_ring[i] && place.accusation && !place.accusation->transfer && waits_did_not_stop(i);
    if (place.frozen || place.not_started || is_end || free)
      verdict.culprits.push_back(dumps_[i]->rank);
  }
  // If more ranks are culprits than wait, the waiting ranks may be the ones in the wrong place.
  if (verdict.culprits.size() > verdict.waiting) verdict.culprits.clear();
}

void Judge::say(RecorderVerdict& verdict) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < verdict.culprits.size() && i < kMaxNamed; ++i) {
    parts.push_back(text_of(by_rank_.at(verdict.culprits[i])));
  }
  if (verdict.culprits.size() > kMaxNamed) {
    parts.push_back("and " + std::to_string(verdict.culprits.size() - kMaxNamed) + " more ranks");
  }
  if (!mismatch_.empty()) parts.push_back(mismatch_);
  // If all other dumps are missing, they are probably on the disks of other nodes, so no rank is
  // named.
  if (!verdict.missing.empty() && verdict.missing.size() < dumps_.size()) {
    parts.push_back("no dump of " + text_of_ranks(verdict.missing) + ", for which others wait");
  }
  for (const std::string& part : parts) verdict.text += (verdict.text.empty() ? "" : "; ") + part;
  verdict.text = std::string(base::cut_text(verdict.text, kMaxTextBytes));
}

RecorderVerdict Judge::judge() {
  collect_groups();
  for (const auto& [name, group] : groups_) {
    find_frozen(group);
    if (group.consistent) find_not_started(group);
  }
  for (std::size_t i = 0; i < dumps_.size(); ++i) {
    places_[i].awaits_missing = dumps_[i]->more_pending;
  }
  for (const auto& [name, group] : groups_) {
    collectives_of(group);
    find_mismatch(group);
  }
  transfers();
  RecorderVerdict verdict;
  verdict.waiting = static_cast<std::size_t>(std::ranges::count_if(
      dumps_, [](const RecorderDump* dump) { return !dump->pending.empty(); }));
  name(verdict);
  verdict.missing.assign(missing_.begin(), missing_.end());
  say(verdict);
  return verdict;
}

}  // namespace

RecorderVerdict judge_recorder(std::span<const RecorderDump> dumps, int world_size) {
  return Judge(dumps, world_size).judge();
}

}  // namespace envgen
