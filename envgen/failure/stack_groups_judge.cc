// Judges the stacks (stack_groups.h): groups ranks by their places, and names the rank for which
// the others wait.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/constants/words.h"
#include "base/fields.h"
#include "base/printed_text.h"
#include "base/stable_sort.h"
#include "base/wire.h"
#include "envgen/failure/stack_groups.h"

namespace envgen {
namespace {

using Ranks = std::span<const PlacedRank>;

constexpr std::size_t kMaxNames = 8;
constexpr std::size_t kMaxVerdictBytes = 1000;
constexpr std::size_t kMaxGroupsTold = 4;
constexpr std::size_t kMaxPlaceBytes = 160;  // maximum length of a text that is sent to another
                                             // node
constexpr std::size_t kMaxNameBytes = 32;

std::vector<StackGroup> grouped(Ranks ranks) {
  using Key = std::tuple<Whereabouts, std::string_view, std::string_view>;
  std::vector<StackGroup> groups;
  std::map<Key, std::size_t> known;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankPlace& at = ranks[i].at;
    const auto [found, fresh] = known.emplace(Key(at.where, at.does, at.place), groups.size());
    if (fresh) groups.push_back({at, {}});
    groups[found->second].ranks.push_back(i);
  }
  base::stable_sort(groups, std::ranges::greater(),
                    [](const StackGroup& group) { return group.ranks.size(); });
  return groups;
}

using Groups = std::vector<const StackGroup*>;

template <class Test>
Groups groups_where(const std::vector<StackGroup>& groups, Test test) {
  Groups found;
  for (const StackGroup& group : groups) {
    if (test(group.at)) found.push_back(&group);
  }
  return found;
}

Groups groups_at(const std::vector<StackGroup>& groups, Whereabouts where) {
  return groups_where(groups, [where](const RankPlace& at) { return at.where == where; });
}

std::size_t count_of(const Groups& groups) {
  std::size_t count = 0;
  for (const StackGroup* group : groups) count += group->ranks.size();
  return count;
}

// Returns the text about the first kMaxGroupsTold groups.
std::string told(Ranks ranks, const Groups& groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.size() && i < kMaxGroupsTold; ++i) {
    text += (i > 0 ? "; " : "") + to_line(ranks, *groups[i]);
  }
  if (groups.size() > kMaxGroupsTold) {
    text += "; and " + std::to_string(groups.size() - kMaxGroupsTold) + " more groups";
  }
  return text;
}

// Returns the only rank that is in another collective than all other ranks of the job; nullptr if
// there is no such rank.
const StackGroup* out_of_order(Ranks ranks, const Groups& waiting) {
  if (waiting.size() != 2 || count_of(waiting) != ranks.size()) return nullptr;
  const bool between_two = std::ranges::any_of(
      waiting, [](const StackGroup* group) { return is_between_two(group->at.collective); });
  const bool alone = waiting[1]->ranks.size() == 1 && waiting[0]->ranks.size() > 1;
  return alone && !between_two ? waiting[1] : nullptr;
}

// Returns the only rank outside of the collective in which all others wait, if it is idle: only
// that rank itself can then be the reason. Returns nullptr otherwise.
const StackGroup* alone_elsewhere(Ranks ranks, const Groups& waiting, const Groups& unclear) {
  const bool alone = unclear.size() == 1 && unclear[0]->ranks.size() == 1 && waiting.size() == 1 &&
                     waiting[0]->ranks.size() + 1 == ranks.size();
  return alone && unclear[0]->at.idle ? unclear[0] : nullptr;
}

// Returns the ranks to suspect if no rank is in a known collective. Their place must be the only
// one where ranks certainly do not wait for others, and most ranks must be elsewhere. Returns
// nullptr otherwise.
const StackGroup* without_peers(Ranks ranks, const std::vector<StackGroup>& groups) {
  const Groups certain = groups_where(groups, [](const RankPlace& at) { return !at.peers; });
  const bool all_seen = std::ranges::all_of(ranks, [](const auto& rank) { return rank.at.seen; });
  if (!all_seen || certain.size() != 1 || 2 * count_of(certain) >= ranks.size()) return nullptr;
  const bool launcher = std::ranges::any_of(
      certain[0]->ranks, [ranks](std::size_t rank) { return ranks[rank].rank < 0; });
  return launcher ? nullptr : certain[0];
}

// Returns true if every stalled rank outside of `group` may wait for another rank. Otherwise the
// group is not the reason for that stall, and only does other work.
bool explains_stalls(Ranks ranks, const StackGroup& group, const std::vector<StackGroup>& groups) {
  return std::ranges::all_of(groups, [&](const StackGroup& other) {
    return other.at.peers || &other == &group ||
           std::ranges::none_of(other.ranks,
                                [ranks](std::size_t rank) { return ranks[rank].stalled; });
  });
}

// Returns the group to suspect by the places alone, whichever ranks have stalled; nullptr if the
// places do not show it.
const StackGroup* outside(Ranks ranks, bool whole, const std::vector<StackGroup>& groups) {
  const Groups waiting = groups_at(groups, Whereabouts::kCollective);
  const Groups stopped = groups_at(groups, Whereabouts::kStopped);
  const Groups ended = groups_at(groups, Whereabouts::kEnded);
  const Groups elsewhere = groups_at(groups, Whereabouts::kElsewhere);
  const Groups unclear = groups_at(groups, Whereabouts::kUnclear);
  // If all ranks are stopped, something outside has stopped the whole job, so no rank is suspected.
  if (stopped.size() == 1 && count_of(stopped) < ranks.size()) return stopped[0];
  if (!stopped.empty()) return nullptr;
  if (waiting.empty()) return whole && ended.empty() ? without_peers(ranks, groups) : nullptr;
  if (ended.size() == 1 && elsewhere.empty() && unclear.empty()) return ended[0];
  if (!ended.empty()) return nullptr;
  if (elsewhere.size() == 1 && count_of(elsewhere) <= count_of(waiting)) return elsewhere[0];
  if (!elsewhere.empty() || !whole) return nullptr;
  return unclear.empty() ? out_of_order(ranks, waiting) : alone_elsewhere(ranks, waiting, unclear);
}

// Returns the rank that the flight recorder alone names, if it is in `ranks` and not seen in a
// collective. The rank becomes a separate group, the last one. Returns nullptr otherwise.
const StackGroup* suspected_by_recorder(Ranks ranks, std::span<const int> recorded,
                                        std::vector<StackGroup>& groups) {
  if (recorded.size() != 1) return nullptr;
  for (StackGroup& group : groups) {
    const auto found = std::ranges::find_if(
        group.ranks, [&](std::size_t rank) { return ranks[rank].rank == recorded[0]; });
    if (found == group.ranks.end()) continue;
    if (group.at.where == Whereabouts::kCollective) return nullptr;
    StackGroup alone{group.at, {*found}};
    group.ranks.erase(found);
    std::erase_if(groups, [](const StackGroup& one) { return one.ranks.empty(); });
    groups.push_back(std::move(alone));
    return &groups.back();
  }
  return nullptr;
}

const StackGroup* suspected(Ranks ranks, bool whole, std::span<const int> recorded,
                            std::vector<StackGroup>& groups) {
  const StackGroup* found = outside(ranks, whole, groups);
  if (found != nullptr && !explains_stalls(ranks, *found, groups)) return nullptr;
  return found != nullptr ? found : suspected_by_recorder(ranks, recorded, groups);
}

std::string verdict_text(Ranks ranks, bool whole, const StackVerdict& verdict,
                         const StackGroup* suspect) {
  Groups others;
  for (const StackGroup& group : verdict.groups) {
    if (&group != suspect) others.push_back(&group);
  }
  if (suspect != nullptr) {
    return "the others wait for " + to_line(ranks, *suspect) + ". " + told(ranks, others);
  }
  const bool here = std::ranges::all_of(ranks, [](const auto& rank) { return rank.node.empty(); });
  if (verdict.all_wait && !whole && here) {
    return "all ranks of this node wait, so the cause is on another node. " + told(ranks, others);
  }
  return "the cause is not known. " + told(ranks, others);
}

std::string names_of(Ranks ranks, const std::vector<std::size_t>& which) {
  std::string text;
  for (std::size_t i = 0; i < which.size() && i < kMaxNames; ++i) {
    text += (i > 0 ? ", " : "") + ranks[which[i]].name;
  }
  if (which.size() > kMaxNames) {
    text += " and " + std::to_string(which.size() - kMaxNames) + " more";
  }
  return text;
}

struct NamedRank {
  std::string name;
  std::uint32_t process = 0;
  int rank = -1;
  bool stalled = false;
};
void fields(base::FieldVisitor& v, NamedRank& rank) {
  v("name", rank.name);
  v("process", rank.process);
  v("rank", rank.rank, {.least = -1});
  v("stalled", rank.stalled);
}

struct PlacedGroup {
  RankPlace at;
  std::vector<NamedRank> ranks;
};
void fields(base::FieldVisitor& v, PlacedGroup& group) {
  v("where", group.at.where, Whereabouts::kEnded);
  v("does", group.at.does);
  v("place", group.at.place);
  v("collective", group.at.collective);
  v("idle", group.at.idle);
  v("peers", group.at.peers);
  v("seen", group.at.seen);
  v("ranks", group.ranks);
}

struct PlacedGroups {
  bool whole = true;
  std::vector<PlacedGroup> groups;
};
void fields(base::FieldVisitor& v, PlacedGroups& all) {
  v("whole", all.whole);
  v("groups", all.groups);
}

std::string shortened(const std::string& text, std::size_t most_bytes) {
  return std::string(base::cut_text(text, most_bytes));
}

}  // namespace

StackVerdict judge_places(std::span<const PlacedRank> ranks, bool whole,
                          std::span<const int> recorded) {
  StackVerdict verdict;
  verdict.groups = grouped(ranks);
  const StackGroup* suspect = suspected(ranks, whole, recorded, verdict.groups);
  if (suspect != nullptr) verdict.suspects = suspect->ranks;
  verdict.all_wait = !ranks.empty() &&
                     count_of(groups_at(verdict.groups, Whereabouts::kCollective)) == ranks.size();
  verdict.text = verdict_text(ranks, whole, verdict, suspect);
  if (verdict.text.size() > kMaxVerdictBytes) {
    verdict.text.resize(kMaxVerdictBytes - 3);  // names and paths are ASCII
    verdict.text += "...";
  }
  return verdict;
}

std::string to_line(std::span<const PlacedRank> ranks, const StackGroup& group) {
  std::string text = names_of(ranks, group.ranks);
  const std::string& node = ranks[group.ranks.front()].node;
  const bool one_node =
      std::ranges::all_of(group.ranks, [&](std::size_t rank) { return ranks[rank].node == node; });
  if (one_node && !node.empty()) text += " on " + node;
  text += ": " + group.at.does;
  if (!group.at.place.empty()) text += ", " + group.at.place;
  return text;
}

std::string encode_places(std::span<const PlacedRank> ranks, bool whole) {
  PlacedGroups all{.whole = whole, .groups = {}};
  for (const StackGroup& group : grouped(ranks)) {
    PlacedGroup placed{.at = group.at, .ranks = {}};
    placed.at.does = shortened(placed.at.does, kMaxPlaceBytes);
    placed.at.place = shortened(placed.at.place, kMaxPlaceBytes);
    placed.at.collective = shortened(placed.at.collective, kMaxNameBytes);
    for (const std::size_t rank : group.ranks) {
      const PlacedRank& of = ranks[rank];
      placed.ranks.push_back({shortened(of.name, kMaxNameBytes), of.process, of.rank, of.stalled});
    }
    all.groups.push_back(std::move(placed));
  }
  std::string bytes = base::to_wire(all);
  while (bytes.size() > kMaxPlacesBytes && !all.groups.empty()) {
    all.whole = false;
    all.groups.erase(all.groups.begin());
    bytes = base::to_wire(all);
  }
  return bytes;
}

std::optional<NodePlaces> decode_places(std::string_view bytes) {
  if (bytes.size() > kMaxPlacesBytes) return std::nullopt;
  auto all = base::from_wire<PlacedGroups>(bytes);
  if (!all) return std::nullopt;
  NodePlaces places{.ranks = {}, .whole = all->whole};
  for (const PlacedGroup& group : all->groups) {
    for (const NamedRank& rank : group.ranks) {
      places.ranks.push_back({.name = rank.name,
                              .node = {},
                              .process = rank.process,
                              .rank = rank.rank,
                              .stalled = rank.stalled,
                              .at = group.at});
    }
  }
  return places;
}

}  // namespace envgen
