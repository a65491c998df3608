#pragma once
// Platform profiles: which node am I, who are the others, how many devices. One file a profile, one
// table; detection prints its reason, --platform overrides it.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "envgen/plan/inputs.h"
#include "envgen/plan/site.h"

namespace envgen {

struct PlatformProfile {
  std::string_view name;
  // Why this platform is here ("MA_VJ_NAME is set"), or nothing.
  std::optional<std::string> (*detect)(Inputs& inputs);
  Location (*locate)(Inputs& inputs);
};

// In the order of detection; the last one, local, always answers.
std::span<const PlatformProfile> platform_profiles();

// The profiles. Order of detection: platform.cc.
std::optional<std::string> detect_modelarts(Inputs& inputs);
Location locate_modelarts(Inputs& inputs);
std::optional<std::string> detect_dlc(Inputs& inputs);
Location locate_dlc(Inputs& inputs);
std::optional<std::string> detect_vk(Inputs& inputs);
Location locate_vk(Inputs& inputs);
std::optional<std::string> detect_volcano(Inputs& inputs);
Location locate_volcano(Inputs& inputs);
std::optional<std::string> detect_kubeflow(Inputs& inputs);
Location locate_kubeflow(Inputs& inputs);
std::optional<std::string> detect_slurm(Inputs& inputs);
Location locate_slurm(Inputs& inputs);
std::optional<std::string> detect_indexed(Inputs& inputs);
Location locate_indexed(Inputs& inputs);
std::optional<std::string> detect_bare(Inputs& inputs);
Location locate_bare(Inputs& inputs);
Location locate_local(Inputs& inputs);

}  // namespace envgen
