#pragma once
// The answer of a platform: this node, its cluster, and further facts. Launchers, and the
// other parts of the resolver that complete a plan, read it.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/parsed_command.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"

namespace envgen {

// All facts of a platform about this node, except for its cluster. A platform's rules are members
// here, so no launcher has code for a particular platform.
struct PlatformFacts {
  std::string job_id;    // value of the ranks' JOB_ID; "" = not known
  std::string work_dir;  // parent of the device<i> directories
  std::string log_dir;
  std::string log_suffix = ".log";
  DeviceIds device_ids = DeviceIds::kPhysical;

  std::string framework;         // launcher that the platform's variables ask for; "" = none
  std::string framework_reason;  // why: "PS_HOST is set"
  ParsedCommand command;         // the command after the platform's rules for commands (command.h)
  std::string cwd;               // start directory; "" = the caller's directory
  std::vector<base::EnvEdit> env;  // edits that the platform promises to every process

  // Set if the number of the job's nodes is not known. It is the error for a job that needs this
  // number. A single process does not need it, nor does a launcher whose own flags give it.
  std::optional<base::Error> uncounted;

  // True if the plan has one node only because no source mentions more. A sign of several nodes is
  // then an error.
  bool alone_by_default = false;

  // Facts for PyTorch.
  std::optional<TorchLauncher> torch_launcher;
  bool master_is_localhost = false;  // with torch.distributed.launch, the master's address is
                                     // localhost on the first node
  // True if only a command whose first word is "python" or "python3" gets a launcher before it.
  bool prefix_bare_python_only = false;
  // Minimum number of nodes of an elastic job. The platform gave a range of nodes, or a rendezvous
  // that numbers them. 0 = not elastic.
  int min_nodes = 0;
  // Set if the platform has already started one task for each rank, and this container is one of
  // them. No launcher then starts further ranks or an agent. The process gets RANK = own_rank,
  // LOCAL_RANK = local_rank, WORLD_SIZE = Cluster::world_size and LOCAL_WORLD_SIZE = the slots of
  // its node. Frameworks other than PyTorch get the same values under their own names.
  std::optional<int> own_rank;
  int local_rank = 0;

  // Facts for Ascend without a rank table. The first is the launcher that the platform's MindSpore
  // variables ask for. The second is whether this node runs MindSpore's scheduler; unset: the first
  // node does.
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> mindspore_scheduler;

  // Facts for TensorFlow.
  std::string tf_config;  // TF_CONFIG as the platform has set it, validated and kept; "" = none
  bool tf_index_text = false;  // task.index is a string in that TF_CONFIG
  bool tf_flags = false;       // --task_index and similar flags are added after the script

  // Facts for MPI and DeepSpeed.
  std::string openmpi_hostfile;  // path at which the platform promises the hostfile; "" = below
                                 // RUN_DIR
  std::string mpich_hostfile;
  bool hostfiles_given = false;  // the platform writes the hostfiles, and trainit only uses them
  std::vector<std::string> mpirun_prefix;  // arguments after "mpirun -np N"; empty = trainit's
                                           // defaults
};

struct ResolvedCluster {
  Cluster cluster;  // no nodes: one process, no cluster
  LocalNode local_node;
  PlatformFacts platform;
  std::vector<Wait> waits;  // waits that are over
  std::vector<std::string> warnings;
};
struct NotYet {
  Wait wait;
};
struct NeedsPaths {};  // the snapshot lacks the paths in Inputs::wants()
using Location = std::variant<ResolvedCluster, NotYet, NeedsPaths, base::Error>;

}  // namespace envgen
