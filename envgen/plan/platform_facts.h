#pragma once
// The answer of a platform: this node, its cluster, and the platform's facts about it. The
// launchers and the other parts that complete a plan read it.

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

// All that a platform says about this node besides its cluster. The rules are data, so that no
// launcher knows a platform.
struct PlatformFacts {
  std::string job_id;    // JOB_ID of the ranks; "" = not known
  std::string work_dir;  // parent of the device<i> directories
  std::string log_dir;
  std::string log_suffix = ".log";
  DeviceIds device_ids = DeviceIds::kPhysical;

  std::string framework;           // launcher that the platform's variables ask for; "" = none
  std::string framework_reason;    // "PS_HOST is set"
  ParsedCommand command;           // command after the platform's command rules (command.h)
  std::string cwd;                 // start directory; "" = the caller's directory
  std::vector<base::EnvEdit> env;  // edits that the platform promises to every process

  // Set if the number of the job's nodes is not known: the error for callers that need it. A single
  // process does not need it, nor does a launcher whose own flags state it.
  std::optional<base::Error> uncounted;

  // True if the plan has one node only because nothing says that there are more. A possible sign of
  // several nodes is then an error.
  bool alone_by_default = false;

  // PyTorch's facts.
  std::optional<TorchLauncher> torch_launcher;
  bool master_is_localhost = false;  // torch.distributed.launch on the first node gets localhost
  // True if only a command whose first word is "python" or "python3" gets a launcher's prefix.
  bool prefix_bare_python_only = false;
  // The least number of nodes of an elastic job, for which the platform gave a range of nodes or a
  // rendezvous that numbers them. 0 = not elastic.
  int min_nodes = 0;
  // Set if the platform has already started one task per rank and this container is one of them. No
  // launcher then starts further ranks or an agent. PyTorch's process gets RANK = own_rank,
  // LOCAL_RANK = local_rank, WORLD_SIZE = Cluster::world_size and LOCAL_WORLD_SIZE = its node's
  // slots. Other frameworks get the same values under their own names.
  std::optional<int> own_rank;
  int local_rank = 0;

  // Facts for Ascend without a rank table: the launcher that the platform's MindSpore variables ask
  // for, and whether this node runs MindSpore's scheduler. Unset: the first node does.
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> mindspore_scheduler;

  // TensorFlow's facts.
  std::string tf_config;       // injected by the platform: validated and kept; "" = none
  bool tf_index_text = false;  // task.index is a string in it
  bool tf_flags = false;       // flags are added after the script

  // Facts for MPI and DeepSpeed.
  std::string openmpi_hostfile;  // path that the platform promises; "" = below RUN_DIR
  std::string mpich_hostfile;
  bool hostfiles_given = false;            // written by the platform; trainit only uses them
  std::vector<std::string> mpirun_prefix;  // after "mpirun -np N"; empty = trainit's defaults
};

struct ResolvedCluster {
  Cluster cluster;  // without nodes: one process, no cluster
  LocalNode local_node;
  PlatformFacts platform;
  std::vector<Wait> waits;  // waits that are over
  std::vector<std::string> warnings;
};
struct NotYet {
  Wait wait;
};
struct NeedsPaths {};  // The snapshot lacks the paths in Inputs::wants().
using Location = std::variant<ResolvedCluster, NotYet, NeedsPaths, base::Error>;

}  // namespace envgen
