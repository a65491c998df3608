#include "init/engine/cluster/hang_judge.h"

#include <algorithm>
#include <utility>

#include "envgen/failure/recorder_verdict.h"
#include "envgen/failure/stack_groups.h"
#include "lifecycle/node_names.h"

namespace engine {

static_assert(lifecycle::kMaxPlacesBytes == envgen::kMaxPlacesBytes);

lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks, bool whole,
                                  const std::vector<std::string>& names,
                                  std::span<const envgen::RecorderDump> dumps) {
  std::vector<envgen::PlacedRank> ranks;
  std::vector<std::uint32_t> nodes;
  for (const lifecycle::NodeLook& look : looks) {
    auto places = envgen::decode_places(look.places);
    whole = whole && places && places->whole;
    if (!places) continue;
    for (envgen::PlacedRank& rank : places->ranks) {
      rank.node = lifecycle::node_text(look.node, names);
      ranks.push_back(std::move(rank));
      nodes.push_back(look.node);
    }
  }
  const envgen::RecorderVerdict recorded = envgen::judge_recorder(dumps, 0);
  const envgen::StackVerdict verdict = envgen::judge_places(ranks, whole, recorded.culprits);
  lifecycle::HangVerdict hang{.text = verdict.text};
  if (!recorded.text.empty()) hang.text += ". the flight recorder: " + recorded.text;
  // If no rank is stalled any more, there is no hang, and no rank is suspected.
  const bool hangs = std::ranges::any_of(ranks, &envgen::PlacedRank::stalled);
  if (!hangs) return hang;
  for (const std::size_t rank : verdict.suspects) {
    hang.suspects.push_back({nodes[rank], ranks[rank].process});
  }
  return hang;
}

}  // namespace engine
