#pragma once
// Platforms: which node this is, which other nodes exist, how many devices each has. Each platform
// has one file, and all are in one table. Detection prints its reason; --platform overrides it.

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
  // Returns the reason for this platform ("MA_VJ_NAME is set"), or nothing.
  std::optional<std::string> (*detect)(Inputs& inputs);
  Location (*locate)(Inputs& inputs);
  RankOrder table_order = RankOrder::kServerId;  // HCCL's own order, for a table of template 2
};

// Returns the platforms in the order of detection. The last one, local, always matches.
std::span<const Platform* const> platforms();

struct ChosenPlatform {
  const Platform* platform = nullptr;
  std::string reason;
};
// Returns the platform that --platform names, else the first one detected. The result is
// provisional while paths are wanted. Error: no platform has that name.
base::Result<ChosenPlatform> choose_platform(Inputs& inputs);

}  // namespace envgen
