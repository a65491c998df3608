#include "envgen/framework/framework.h"

#include <array>
#include <utility>

#include "envgen/formats/tfconfig.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

constexpr std::array<FrameworkLauncher, 7> kLaunchers = {{
    {"ascend", launch_ascend},
    {"deepspeed", launch_deepspeed},
    {"horovod", launch_horovod},
    {"mpi", launch_mpi},
    {"pytorch", launch_pytorch},
    {"single", launch_single},
    {"tensorflow", launch_tensorflow, tf_ranks},
}};

}  // namespace

std::span<const FrameworkLauncher> framework_launchers() { return kLaunchers; }

Status launch_single(Inputs& inputs, const Located& located, Plan& plan) {
  Process process = main_process(inputs, located.site, located.site.command, plan);
  if (located.site.own_rank) process.env = unset_stale(inputs, plan, rank_variables());
  plan.processes.push_back(std::move(process));
  return {};
}

}  // namespace envgen
