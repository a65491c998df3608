#pragma once
// The answer of a platform: this node, its cluster, and the platform's facts about it. Read by the
// launchers, and by all that completes a plan.

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

// All that a platform says about this node beyond its cluster: its rules as data, so that no
// launcher knows a platform.
struct PlatformFacts {
  std::string job_id;    // JOB_ID of the ranks; "" = none is known
  std::string work_dir;  // where device<i> directories lie
  std::string log_dir;
  std::string log_suffix = ".log";
  DeviceIds device_ids = DeviceIds::kPhysical;

  std::string framework;         // the launcher that the platform's variables ask for; "" = none
  std::string framework_reason;  // "PS_HOST is set"
  ParsedCommand command;         // after the platform's command rules (command.h)
  std::string cwd;               // where it starts; "" = the caller's directory
  std::vector<EnvEdit> env;      // what the platform promises to every process

  // Nothing tells how many nodes the job has: the error, for who has to know it. One process, and a
  // launcher that the user told by its own flags, do not.
  std::optional<Error> uncounted;

  // One node because nothing says that there are more: what could be a sign of them is an error.
  bool alone_by_default = false;

  // PyTorch.
  std::optional<TorchLauncher> torch_launcher;
  bool master_is_localhost = false;  // torch.distributed.launch of the first node is told localhost
  // Only a command whose first word is "python" or "python3" gets a launcher's prefix.
  bool prefix_bare_python_only = false;
  // Elastic: the platform gave a range of nodes, from this one, or a rendezvous that numbers them;
  // 0 = neither.
  int min_nodes = 0;
  // The platform has started one task per rank already and this container is one of them: no
  // launcher fans out or starts an agent; PyTorch's process gets RANK = own_rank, LOCAL_RANK =
  // local_rank, WORLD_SIZE = Cluster::world_size, LOCAL_WORLD_SIZE = its node's slots, and each
  // other one what its framework calls these.
  std::optional<int> own_rank;
  int local_rank = 0;

  // Ascend without a rank table: what the platform's MindSpore variables ask for, and whether this
  // node runs MindSpore's scheduler (unset: the first node does).
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> mindspore_scheduler;

  // TensorFlow.
  std::string tf_config;       // injected: validated and kept; "" = none
  bool tf_index_text = false;  // task.index is a string there
  bool tf_flags = false;       // flags go behind the script

  // MPI, DeepSpeed.
  std::string openmpi_hostfile;  // where the platform promises it; "" = under RUN_DIR
  std::string mpich_hostfile;
  bool hostfiles_given = false;            // the platform wrote them: they are used, not written
  std::vector<std::string> mpirun_prefix;  // between "mpirun -np N" and the command; empty = ours
};

struct ResolvedCluster {
  Cluster cluster;  // no nodes: one process without a cluster
  LocalNode local_node;
  PlatformFacts platform;
  std::vector<Wait> waits;  // over
  std::vector<std::string> warnings;
};
struct NotYet {
  Wait wait;
};
struct NeedsPaths {};  // the snapshot lacks what Inputs::wants() names
using Location = std::variant<ResolvedCluster, NotYet, NeedsPaths, Error>;

}  // namespace envgen
