#pragma once
// Platforms: which node am I, who are the others, how many devices. One file a platform, one table;
// detection prints its reason, --platform overrides it.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

struct Platform {
  std::string_view name;
  // Why this platform is here ("MA_VJ_NAME is set"), or nothing.
  std::optional<std::string> (*detect)(Inputs& inputs);
  Location (*locate)(Inputs& inputs);
  RankOrder table_order = RankOrder::kServerId;  // HCCL's own, for a table of template 2
};

// In the order of detection; the last one, local, always answers.
std::span<const Platform* const> platforms();

struct ChosenPlatform {
  const Platform* platform = nullptr;
  std::string reason;
};
// The one that --platform names, else the first that is detected: provisional while paths are
// wanted. An Error: there is none of that name.
Result<ChosenPlatform> choose_platform(Inputs& inputs);

}  // namespace envgen
