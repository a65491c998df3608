#pragma once
// Helpers of several framework launchers: which program a command starts, where a process's output
// goes, the environment of a PyTorch rank, stale rank variables.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Whether the command itself is MindSpore's msrun.
bool starts_msrun(const ParsedCommand& command);

// Where a node's process writes. By default the first one inherits, each other one has a file.
bool inherits_output(const Request& request, std::size_t index);

// Names the log and the environment file of a rank that is about to join plan.processes.
void add_rank_log(const Request& request, const PlatformFacts& platform, const Plan& plan,
                  Process& process);

// The one process of a node that runs `argv`, in the platform's directory; with --output files it
// has a log as a rank has. It is a rank where the platform started it as one
// (PlatformFacts::own_rank). Of a launcher it knows where that keeps what its ranks write, as far
// as its flags and variables say so.
Process main_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, Plan& plan);

// One of the ranks that trainit starts itself on this node, where the one before it is in
// plan.processes: `argv` in the platform's directory, with its log; its variables are the caller's.
Process rank_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, int rank, const Plan& plan);

// The directory a node's processes start in.
std::string start_directory(const Inputs& inputs, const PlatformFacts& platform);

// The environment that processes start with, as far as the plan knows it.
Environ planned_environment(const Inputs& inputs, const Plan& plan);

// A program as execvp(3) would find it. `known` is false while the snapshot lacks a path for that.
struct FoundProgram {
  bool known = true;
  std::string path;  // "" = nowhere
};
FoundProgram find_in_path(Inputs& inputs, std::string_view path_list, std::string_view name);
// Finds a command's first word: a path, also one relative to the directory of the snapshot (cwd),
// or a name in PATH of `env`. `known` as above.
FoundProgram find_program(Inputs& inputs, const Environ& env, const std::string& program);

// Whether one of plan.env's edits, which the platform promises, names it.
bool is_promised(const Plan& plan, std::string_view name);

// Unsets each of `names` that the processes would otherwise inherit and that no platform promises.
std::vector<EnvEdit> unset_stale(const Inputs& inputs, const Plan& plan,
                                 std::span<const std::string_view> names);

// RANK, WORLD_SIZE and their like: who a process is, in PyTorch's, Horovod's or a platform's sense.
std::span<const std::string_view> rank_variables();

// Of one process that calls init_process_group() by itself (env://), as torchrun's workers get it
// (torch/distributed/elastic/agent/server/local_elastic_agent.py), but for the store: no agent has
// one, so that rank 0 opens it.
struct TorchRank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int node_rank = 0;
  int node_count = 1;
  std::string master_addr;
  int master_port = 0;
  std::string run_id = {};
  int max_restarts = 0;
  std::string error_file = {};  // written by torch's @record; "" = none
  bool before_2_2 = false;      // the version of torch
};
std::vector<EnvEdit> torch_rank_environment(const TorchRank& rank);

// What is known of the ranks only later: replaces the value of each process's edit of `name`.
void set_of_processes(Plan& plan, std::string_view name, const std::string& value);

// What Horovod's own launcher gives OpenMPI's mpirun, beside -np.
std::vector<std::string> openmpi_training_flags();

}  // namespace envgen
