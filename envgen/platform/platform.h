#pragma once
// Platform profiles: which node am I, who are the others, how many devices. One file a profile, one
// table; detection prints its reason, --platform overrides it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// What a profile says about this node beyond its cluster: the platform's rules as data, so that no
// launcher knows a platform.
struct Site {
  std::string job_id;    // JOB_ID of the ranks; "" = none is known
  std::string work_dir;  // where device<i> directories lie
  std::string log_dir;
  std::string log_suffix = ".log";
  DeviceIds device_ids = DeviceIds::kPhysical;

  std::string framework;         // the launcher that the platform's variables ask for; "" = none
  std::string framework_reason;  // "PS_HOST is set"
  std::vector<std::string> command;  // after the platform's command rules (command.h)
  std::string cwd;                   // where it starts; "" = the caller's directory
  std::vector<EnvEdit> env;          // what the platform promises to every process

  // PyTorch.
  std::optional<TorchLauncher> torch_launcher;
  bool master_is_localhost = false;  // the first node calls itself localhost
  // Only a command whose first word is "python" or "python3" gets a launcher's prefix.
  bool prefix_bare_python_only = false;
  int min_nodes = 0;  // elastic: the platform gave a range of nodes, from this one; 0 = none
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

struct Located {
  Cluster cluster;  // no nodes: one process without a cluster
  Self self;
  Site site;
  std::vector<Wait> waits;  // over
  std::vector<std::string> warnings;
};
struct NotYet {
  Wait wait;
};
struct NeedsPaths {};  // the snapshot lacks what Inputs::wants() names
using Location = std::variant<Located, NotYet, NeedsPaths, Error>;

struct PlatformProfile {
  std::string_view name;
  // Why this platform is here ("MA_VJ_NAME is set"), or nothing.
  std::optional<std::string> (*detect)(Inputs& inputs);
  Location (*locate)(Inputs& inputs);
};

// In the order of detection; the last one, local, always answers.
std::span<const PlatformProfile> platform_profiles();

// The profiles. Order of detection: platforms.cc.
std::optional<std::string> detect_modelarts(Inputs& inputs);
Location locate_modelarts(Inputs& inputs);
std::optional<std::string> detect_dlc(Inputs& inputs);
Location locate_dlc(Inputs& inputs);
std::optional<std::string> detect_vk(Inputs& inputs);
Location locate_vk(Inputs& inputs);
std::optional<std::string> detect_volcano(Inputs& inputs);
Location locate_volcano(Inputs& inputs);
std::optional<std::string> detect_kubeflow(Inputs& inputs);
Location locate_kubeflow(Inputs& inputs);
std::optional<std::string> detect_slurm(Inputs& inputs);
Location locate_slurm(Inputs& inputs);
std::optional<std::string> detect_indexed(Inputs& inputs);
Location locate_indexed(Inputs& inputs);
std::optional<std::string> detect_bare(Inputs& inputs);
Location locate_bare(Inputs& inputs);
Location locate_local(Inputs& inputs);

// Shared by the profiles that read a rank table.

// What this container is called, by which variable; tried in this order against the table.
struct IdentityHints {
  struct Hint {
    std::string source;  // "MA_CURRENT_INSTANCE_NAME", "host name", "an interface address"
    std::string value;
    bool definite = false;  // the platform's own name of this pod: the table must have it
  };
  std::vector<Hint> pod_names;
  std::vector<Hint> container_ips;
  std::vector<Hint> host_ips;
  std::vector<Hint> server_ids;
};
// RANK_TABLE_FILE or --rank-table may name a file or a directory that holds the table. Nothing when
// the path is not in the snapshot yet.
std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& named);

// Reads, checks and converts the table at `path`, and recognises this node in it.
Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const IdentityHints& hints, Site site);

// The table's findings become the plan's warnings, the limits of the MindSpore document too; with
// --strict those are an error. `where` names the table.
Result<std::vector<std::string>> table_warnings(const ConvertedTable& table, const Request& request,
                                                const std::string& where);
// By --node-rank, RANK_START, pod name, container address, host address, server_id; never "the
// first" unless there is only one.
Result<Self> recognise_self(const std::vector<Node>& nodes, const Request& request,
                            const std::optional<int>& rank_start, const IdentityHints& hints);

}  // namespace envgen
