#include "envgen/plan/user_launcher.h"

#include <algorithm>
#include <array>

#include "base/constants/packed_texts.h"
#include "base/constants/words.h"

namespace envgen {
namespace {

using Reads = LauncherReads;

constexpr Launcher kRows[] = {
    {"torchrun", "torch.distributed.run", "", "pytorch", Reads::kPet},
    {"torch-run", "torch.distributed.launch", "", "pytorch", Reads::kPet},
    {"", "torch.distributed.elastic", "", "pytorch", Reads::kPet},
    {"tune", "", "run", "pytorch", Reads::kPet},  // torchtune's program
    {"dlrover-run", "dlrover.trainer.torch.elastic_run", "", "pytorch", Reads::kPet},
    {"ft_launcher", "nvidia_resiliency_ext.fault_tolerance.launcher", "", "pytorch", Reads::kPet},
    {"hyperpodrun", "hyperpod_elastic_agent", "", "pytorch", Reads::kPet},
    {"accelerate", "accelerate", "", "pytorch"},
    {"accelerate-launch", "", "", "pytorch"},
    {"colossalai", "colossalai", "", "pytorch"},
    {"composer", "composer.cli", "", "pytorch"},
    {"llamafactory-cli", "llamafactory.cli", "", "pytorch", Reads::kNodeVariables},
    {"swift", "swift.cli.main", "", "pytorch", Reads::kNodeVariables},
    {"megatron", "swift.cli._megatron.main", "", "pytorch", Reads::kNodeVariables},
    {"xtuner", "xtuner", "", "pytorch", Reads::kNodeVariables},
    {"deepspeed", "deepspeed", "", "deepspeed"},
    {"ds", "deepspeed.launcher", "", "deepspeed"},
    {"deepspeed.pt", "", "", "deepspeed"},
    {"horovodrun", "horovod.runner", "", "horovod"},
    // Variants are found by the beginning of the name: mpirun.openmpi, mpiexec.hydra
    {"mpirun", "", "", "mpi"},
    {"mpiexec", "", "", "mpi"},
    {"orterun", "", "", "mpi"},
    {"prun", "", "", "mpi"},
    {"msrun", "mindspore.parallel.cluster", "", "ascend"},
    {"fleetrun", "paddle.distributed.launch", "", "paddle", LauncherReads::kPaddle},
    {"", "paddle.distributed.fleet.launch", "", "paddle", LauncherReads::kPaddle},
    {"srun", "", "", "single"},
    {"", "determined.launch", "", "single"},
    {"", "oneflow.distributed.launch", "", "single"},
    {"ray", "ray.scripts.scripts", "start", "single"},
    {"vllm", "vllm.entrypoints", "", "single"},
    {"sglang", "sglang.launch_server", "", "single"},
    {"lmdeploy", "lmdeploy", "", "single"},
};
constexpr base::PackedTable<kRows, &Launcher::program, &Launcher::module, &Launcher::argument,
                            &Launcher::framework>
    kLaunchers;

// Returns whether only the module itself is a launcher, and its submodules are other programs.
bool is_library(std::string_view module) { return module == "deepspeed" || module == "xtuner"; }

}  // namespace

std::optional<Launcher> launcher_of_program(std::string_view program) {
  for (const Launcher& known : kLaunchers.all()) {
    if (known.program.empty()) continue;
    if (program == known.program) return known;
    if (known.framework != "mpi" || !program.starts_with(known.program)) continue;
    const std::string_view rest = program.substr(known.program.size());
    static constexpr auto kKinds = base::words("openmpi", "mpich", "hydra", "intel", "mvapich");
    const bool is_kind = std::ranges::any_of(
        kKinds, [rest](std::string_view kind) { return rest.substr(1).starts_with(kind); });
    if ((rest[0] == '.' || rest[0] == '-') && is_kind) return known;
  }
  return std::nullopt;
}

std::optional<Launcher> launcher_of_module(std::string_view module) {
  for (const Launcher& known : kLaunchers.all()) {
    if (known.module.empty() || !module.starts_with(known.module)) continue;
    const bool below = module.size() > known.module.size() && module[known.module.size()] == '.';
    if (module.size() == known.module.size() || (below && !is_library(known.module))) return known;
  }
  return std::nullopt;
}

}  // namespace envgen
