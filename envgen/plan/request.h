#pragma once
// The user's request, as far as it decides the plan. The command line fills it (init/cli); an empty
// or unset member leaves the choice to the platform.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/policy.h"
#include "envgen/plan/dataset.h"
#include "envgen/plan/hook_event.h"
#include "envgen/plan/observation.h"
#include "envgen/plan/sandbox.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

// What ASCEND_DEVICE_ID and DEVICE_ID mean: the index among this node's devices (ModelArts), or the
// number npu-smi shows on the host (the MindSpore document on bare metal).
enum class DeviceIds : unsigned char { kLogical, kPhysical };

// Where the output of a job's processes goes.
enum class Output : unsigned char {
  kFirst,    // the node's first rank inherits stdout and stderr, each other one has a file
  kInherit,  // all inherit
  kFiles,    // each has a file
  kTee,      // each has a file, and what it says goes to stdout and stderr as well
};

// How the PyTorch launcher starts a node's ranks.
enum class TorchLauncher : unsigned char { kTorchrun, kLaunch, kFanOut };

// How an Ascend job's processes find each other.
enum class AscendLauncher : unsigned char {
  kRankTable,  // one process per device, which reads the rank table
  kMsrun,      // MindSpore's msrun starts them
  kDynamic,    // one process per device with MindSpore's dynamic cluster variables
};

// What RANK and WORLD_SIZE of an environment count that no platform has explained.
enum class RankMeans : unsigned char {
  kNode,     // nodes: each has ranks that are ours to start
  kProcess,  // processes: this container is one rank
};

// What a failure on one node means for the others.
enum class OnNodeFailure : unsigned char {
  kStop,  // they stop at once
  kTell,  // they are told, and go on
};

struct Request {
  std::vector<std::string> command;
  std::string platform;
  std::string framework;
  std::string rank_table;  // a file, or a directory that holds jobstart_hccl.json
  std::optional<RankOrder> rank_order;
  std::optional<int> node_rank;
  std::optional<int> rank_start;  // the job-wide rank of this node's first device
  std::string devices;            // "0,1,4-7": for a table generated from hccn.conf
  std::optional<DeviceIds> device_ids;
  std::optional<Output> output;
  std::string work_dir;  // device<i> directories lie there
  std::string log_dir;
  bool strict = false;
  bool clean_device_dirs = false;
  std::int64_t rank_table_timeout_ms = 30LL * 60 * 1000;

  // Clusters without a rank table.
  std::optional<int> nodes;  // how many, where the platform does not say
  std::string hosts;         // "a:8,b:8": host[:slots], in node-rank order
  std::optional<int> slots;  // ranks per node
  std::optional<RankMeans> rank_means;
  std::string master_addr;
  std::optional<int> master_port;
  std::optional<TorchLauncher> torch_launcher;
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> tf_flags;  // --task_index and its like behind the script (ModelArts)

  // MPI and DeepSpeed: sshd on the workers.
  std::optional<int> ssh_port;
  std::string ssh_key;  // the private key that all nodes have
  std::int64_t peer_timeout_ms = 10LL * 60 * 1000;
  std::int64_t launcher_timeout_ms = 60LL * 60 * 1000;

  // The link between the nodes.
  std::string job_secret;  // a file that all nodes have; else that of ssh_key
  std::optional<int> link_port;
  std::int64_t link_timeout_ms = 30'000;  // silence so long is a failure
  std::optional<OnNodeFailure> on_node_failure;

  // The environment.
  std::string conda_env;  // a name, or a prefix
  std::string conda_dir;  // the installation, instead of ANACONDA_DIR
  std::int64_t script_timeout_ms =
      60LL * 1000;        // of activate.d, set_env.sh and their like, together
  bool conda_lib = true;  // <prefix>/lib in LD_LIBRARY_PATH

  // The job's policy as the options say it. Of the four below it has the defaults: what is unset
  // there is left to platform, terminal and hooks (policy_of() in envgen/resolve/restart_policy.h).
  Policy policy;
  std::optional<std::int64_t> grace_ms;
  std::optional<std::int64_t> hold_ms;   // else 4 h with a terminal, none without
  std::optional<int> checkpoint_signal;  // 0 = none. Else USR1 where no hook saves
  std::optional<int> max_restarts;
  std::optional<RestartVerdict> restart_verdict;  // else it is enforced

  // Hooks: see envgen/resolve/hooks.h.
  std::string hooks_dir;         // beside /etc/trainit/hooks
  std::string lifecycle_script;  // called for each event, with its name
  HookTimes hook_timeouts = {};
  std::optional<std::vector<HookEvent>> fatal_hooks;  // else pre-start

  // Restarts, and those of a job in several containers.
  bool restart_across_nodes = false;
  std::int64_t device_wait_ms = 30'000;               // for others to let go of the devices
  std::int64_t restart_window_ms = 30LL * 60 * 1000;  // for the other nodes to arrive
  std::optional<int> min_nodes;
  std::vector<std::string> warm;       // modules, or kWarmAuto (envgen/plan/warm.h); empty = none
  std::vector<std::string> warm_free;  // variables that may be others at a warm restart

  std::string terminal;  // beside the job: "1" sshd, "0" none, else a command line; "" = none

  Observation observe;
  DataRequest data;
  std::optional<bool> log_prefix;  // "[rank 3] " where several share stdout; else with kTee

  // Of the job's processes, not of PID 1.
  SandboxRequest sandbox;
};

}  // namespace envgen
