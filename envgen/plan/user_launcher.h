#pragma once
// A table of launchers: programs that themselves start the ranks of a node, or of a job. If trainit
// started such a program once for each device, each instance would start all ranks. ParsedCommand
// looks for these programs in the user's command.
//
// Sources for the variables that they read: torch/distributed/run.py (PET_*), LLaMA-Factory's
// cli.py and ms-swift's swift/cli/main.py (NNODES, NODE_RANK, NPROC_PER_NODE), Paddle's
// launch/context/args_envs.py.

#include <optional>
#include <string_view>

namespace envgen {

// The variables from which a launcher reads the number of nodes and this node's number, in addition
// to its flags.
enum class LauncherReads : unsigned char {
  kOther,          // only variables of its own, or none
  kPet,            // PET_NNODES and similar ones, as torchrun
  kPaddle,         // PADDLE_NNODES and similar ones
  kNodeVariables,  // NNODES, NODE_RANK, NPROC_PER_NODE and MASTER_ADDR, which it passes to a
                   // torchrun
};

struct Launcher {
  std::string_view program;    // file name of the program: "torchrun"; "" = it is only a module
  std::string_view module;     // module of `python -m`; "" = none
  std::string_view argument;   // first argument with which it is a launcher; "" = any
  std::string_view framework;  // framework of its ranks; "single": it needs nothing from trainit
  LauncherReads reads = LauncherReads::kOther;
};

// Returns the launcher with this file name: "mpirun", "mpiexec.hydra". nullopt: not in the table.
std::optional<Launcher> launcher_of_program(std::string_view program);

// Returns the launcher that `python -m` starts with this module. nullopt: not in the table.
std::optional<Launcher> launcher_of_module(std::string_view module);

}  // namespace envgen
