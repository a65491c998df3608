#pragma once
// Helpers that several framework launchers use: the program that a command starts, the output of a
// process, the environment of a PyTorch rank, and stale rank variables.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Returns whether the command itself is MindSpore's msrun.
bool starts_msrun(const ParsedCommand& command);

// Returns true if the node's process with this index inherits trainit's stdout and stderr. By
// default the first process does, and each other one writes to a file.
bool inherits_output(const Request& request, std::size_t index);

// Sets the log file and the environment file of a rank that will be added to plan.processes.
void add_rank_log(const Request& request, const PlatformFacts& platform, const Plan& plan,
                  Process& process);

// Returns the path of the ranks' rank table, in RUN_DIR.
std::string rank_table_path(const Inputs& inputs);
// Returns whether HCCL can open a rank table at `path`. HCCL takes the first ".json" in the path
// for its end, so the path must not contain another one.
bool hccl_opens(std::string_view path);
// Adds the cluster's rank table at `path`, with its directory.
void add_rank_table(const std::string& path, const Cluster& cluster, Plan& plan);

// Returns the process of a node that has only one. It runs `argv` in the platform's directory. With
// --output files it has a log, as a rank does. It is a rank if the platform started it as one
// (PlatformFacts::own_rank). If it is a launcher whose flags or variables name the directory for
// the output of its ranks, that directory is set too.
Process main_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, Plan& plan);

// Returns a rank that trainit itself starts on this node. It runs `argv` in the platform's
// directory and has a log. The ranks before it must already be in plan.processes. The caller sets
// its variables.
Process rank_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, int rank, const Plan& plan);

// Returns the directory in which a node's processes start.
std::string start_directory(const Inputs& inputs, const PlatformFacts& platform);

// Returns the environment of the plan's processes, as far as the plan determines it.
base::Environ planned_environment(const Inputs& inputs, const Plan& plan);

// The file of a program, found by the rules of base/search_path.h with two differences. Relative
// paths start from the directory of the snapshot (cwd). A file that is not executable is accepted,
// because a hook can still change its mode. `known` is false while the snapshot lacks a path for
// the answer.
struct FoundProgram {
  bool known = true;
  std::string path;  // "" = not found
};
FoundProgram find_program(Inputs& inputs, std::string_view search_path, std::string_view name);

// Returns true if plan.env sets the variable `name`, as the platform promises for every process.
bool is_promised(const Plan& plan, std::string_view name);

// Returns edits that unset those of `names` that the processes would inherit from the caller.
// Variables that the platform promises are kept.
std::vector<base::EnvEdit> unset_stale(const Inputs& inputs, const Plan& plan,
                                       std::span<const std::string_view> names);

// Returns the names of variables that give a process its rank in PyTorch, Horovod or on a platform:
// RANK, WORLD_SIZE and similar ones.
std::span<const std::string_view> rank_variables();

// The variables of a rank that calls init_process_group() with env:// and has no agent. They are
// those of torchrun's workers (torch/distributed/elastic/agent/server/local_elastic_agent.py)
// except for the store. No agent has a store here, so rank 0 opens it.
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
  std::string error_file = {};  // file that torch's @record writes; "" = none
  bool before_2_2 = false;      // torch is older than 2.2
};
std::vector<base::EnvEdit> torch_rank_environment(const TorchRank& rank);

// The variables that get a free port when the processes start (Plan::free_master_port).
// kFreeAddressVariable gets "127.0.0.1:PORT".
inline constexpr std::string_view kFreePortVariables[] = {"MASTER_PORT", "JAX_COORDINATOR_PORT"};
inline constexpr std::string_view kFreeAddressVariable = "JAX_COORDINATOR_ADDRESS";

// Changes the value of the edit of `name` in each process that has one. For a value that is known
// only after the ranks are planned.
void set_of_processes(Plan& plan, std::string_view name, const std::string& value);

// Returns the flags that Horovod's own launcher passes to OpenMPI's mpirun, besides -np.
std::vector<std::string> openmpi_training_flags();

}  // namespace envgen
