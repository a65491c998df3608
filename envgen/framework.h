#pragma once
// Framework launchers: what each process needs. One file a launcher, one table; no launcher knows a
// platform and no platform a launcher.

#include <span>
#include <string_view>

#include "envgen/plan.h"
#include "envgen/platform.h"

namespace envgen {

struct FrameworkLauncher {
  std::string_view name;
  // Adds directories, files and processes to `plan`.
  Status (*launch)(Inputs& inputs, const Located& located, Plan& plan);
};

std::span<const FrameworkLauncher> framework_launchers();

Status launch_single(Inputs& inputs, const Located& located, Plan& plan);
// One process per Ascend device of this node.
Status launch_ascend(Inputs& inputs, const Located& located, Plan& plan);

}  // namespace envgen
