#pragma once
// Platforms: each answers which node this is, which other nodes exist, and how many devices each
// has. Each platform has one file, and all are in one table. trainit logs the reason for its
// choice; --platform overrides it.

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
  // Returns why the job runs on this platform ("MA_VJ_NAME is set"); nullopt: it does not.
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
// Returns the platform that --platform names, otherwise the first that is detected. The result is
// provisional while the snapshot lacks paths. Fails if no platform has that name.
base::Result<ChosenPlatform> choose_platform(Inputs& inputs);

}  // namespace envgen
