#pragma once
// Programs that start the ranks of a node, or of a job, by themselves: one table of them. Started
// once for each device each of them would start all ranks again. ParsedCommand finds them.
//
// Sources of what they read: torch/distributed/run.py (PET_*), LLaMA-Factory's cli.py and
// ms-swift's swift/cli/main.py (NNODES, NODE_RANK, NPROC_PER_NODE), Paddle's
// launch/context/args_envs.py.

#include <optional>
#include <string_view>

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

// By the name of the program's file alone: "mpirun", "mpiexec.hydra".
std::optional<Launcher> launcher_of_program(std::string_view program);

// By the module that `python -m` names.
std::optional<Launcher> launcher_of_module(std::string_view module);

}  // namespace envgen
