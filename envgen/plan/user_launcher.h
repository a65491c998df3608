#pragma once
// A table of programs that start the ranks of a node, or of a job, themselves. If trainit started
// such a program once for each device, each instance would start all ranks. ParsedCommand finds
// these programs.
//
// Sources for the variables that they read: torch/distributed/run.py (PET_*), LLaMA-Factory's
// cli.py and ms-swift's swift/cli/main.py (NNODES, NODE_RANK, NPROC_PER_NODE), Paddle's
// launch/context/args_envs.py.

#include <optional>
#include <string_view>

namespace envgen {

// The variables from which a launcher reads the number of nodes and this node's number, besides its
// own flags.
enum class LauncherReads : unsigned char {
  kOther,          // only variables of its own, or none
  kPet,            // PET_NNODES and similar ones, as torchrun reads them
  kNodeVariables,  // NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR: it starts a torchrun with them
};

struct Launcher {
  std::string_view program;    // "torchrun"; "" = only a module
  std::string_view module;     // module of `python -m`; "" = none
  std::string_view argument;   // first argument that makes it a launcher; "" = any
  std::string_view framework;  // framework of the ranks; "single": it needs nothing of trainit
  LauncherReads reads = LauncherReads::kOther;
};

// Finds a launcher by the name of the program's file: "mpirun", "mpiexec.hydra".
std::optional<Launcher> launcher_of_program(std::string_view program);

// Finds a launcher by the module that `python -m` names.
std::optional<Launcher> launcher_of_module(std::string_view module);

}  // namespace envgen
