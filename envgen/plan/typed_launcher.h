#pragma once
// Programs that start the ranks of a node, or of a job, by themselves: one table of them, and how
// one is found in what a user typed. Started once for each device each of them would start all
// ranks again.
//
// Sources of what they read: torch/distributed/run.py (PET_*), LLaMA-Factory's cli.py and
// ms-swift's swift/cli/main.py (NNODES, NODE_RANK, NPROC_PER_NODE), Paddle's
// launch/context/args_envs.py.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// What tells a launcher which node this is and how many there are, beside its own flags.
enum class LauncherReads : unsigned char {
  kOther,          // nothing that is the same for several of them
  kPet,            // PET_NNODES and its like, as torchrun does
  kNodeVariables,  // NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR: it starts a torchrun with them
};

struct Launcher {
  std::string_view program;    // "torchrun"; "" = a module alone
  std::string_view module;     // of `python -m`; "" = none
  std::string_view argument;   // the only first argument with which it is one; "" = any
  std::string_view framework;  // whose ranks it starts; "single": it needs nothing of trainit
  LauncherReads reads = LauncherReads::kOther;
};

// The launcher that the command itself is: "torchrun", "/opt/bin/torchrun", "python -m
// torch.distributed.run", "python /opt/bin/torchrun". nullopt for a program that is none.
std::optional<Launcher> launcher_of_command(const std::vector<std::string>& command);

// The same also behind programs that only start another one (`env A=b`, `timeout 1h`, `nohup`,
// `numactl -N 0`), and in the text of a shell: bash -lc "cd /job && exec torchrun ...".
std::optional<Launcher> typed_launcher(const std::vector<std::string>& command);

// Its framework; "" for a command that is none.
std::string_view framework_typed(const std::vector<std::string>& command);

// The script that a shell will read ("run.sh" of `bash run.sh` and of `./run.sh`), where nobody has
// looked for a launcher; "" = it is none.
std::string shell_script(const std::vector<std::string>& command);

// By the name of the program's file alone: "mpirun", "mpiexec.hydra".
std::optional<Launcher> launcher_of_program(std::string_view program);

}  // namespace envgen
