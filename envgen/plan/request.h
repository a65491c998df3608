#pragma once
// The user's request, as far as it decides the plan. The command line fills it (init/cli). An empty
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

// The meaning of ASCEND_DEVICE_ID and DEVICE_ID. A logical id is the index among this node's
// devices (ModelArts). A physical id is the number that npu-smi shows on the host (the MindSpore
// document on bare metal).
enum class DeviceIds : unsigned char { kLogical, kPhysical };

// The destination of the output of a job's processes.
enum class Output : unsigned char {
  kFirst,    // the node's first rank inherits stdout and stderr, each other rank has a file
  kInherit,  // all ranks inherit stdout and stderr
  kFiles,    // a file for each rank
  kTee,      // a file for each rank, and a copy of its output on stdout and stderr
};

// The method by which the PyTorch launcher starts a node's ranks.
enum class TorchLauncher : unsigned char { kTorchrun, kLaunch, kFanOut };

// The method by which an Ascend job's processes find each other.
enum class AscendLauncher : unsigned char {
  kRankTable,  // one process per device, each reads the rank table
  kMsrun,      // MindSpore's msrun starts them
  kDynamic,    // one process per device with MindSpore's dynamic cluster variables
};

// The unit that RANK and WORLD_SIZE count if no platform explains them.
enum class RankMeans : unsigned char {
  kNode,     // nodes: trainit starts the ranks of each
  kProcess,  // processes: this container is one rank
};

// The effect of a failure on one node for the other nodes.
enum class OnNodeFailure : unsigned char {
  kStop,  // the other nodes stop at once
  kTell,  // the other nodes receive a message and continue
};

struct Request {
  std::vector<std::string> command;
  std::string platform;
  std::string framework;
  std::string rank_table;  // a file, or a directory that contains jobstart_hccl.json
  std::optional<RankOrder> rank_order;
  std::optional<int> node_rank;
  std::optional<int> rank_start;  // the job-wide rank of this node's first device
  std::string devices;            // "0,1,4-7": devices of a table that is generated from hccn.conf
  std::optional<DeviceIds> device_ids;
  std::optional<Output> output;
  std::string work_dir;  // parent of the device<i> directories
  std::string log_dir;
  bool strict = false;
  bool clean_device_dirs = false;
  std::int64_t rank_table_timeout_ms = 30LL * 60 * 1000;

  // Options of clusters without a rank table.
  std::optional<int> nodes;  // number of nodes, if the platform does not give it
  std::string hosts;         // "a:8,b:8": host[:slots], in node-rank order
  std::optional<int> slots;  // ranks per node
  std::optional<RankMeans> rank_means;
  std::string master_addr;
  std::optional<int> master_port;
  std::optional<TorchLauncher> torch_launcher;
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> tf_flags;  // add --task_index and similar flags after the script (ModelArts)

  // MPI and DeepSpeed options: sshd on the workers.
  std::optional<int> ssh_port;
  std::string ssh_key;  // private key that all nodes have
  std::int64_t peer_timeout_ms = 10LL * 60 * 1000;
  std::int64_t launcher_timeout_ms = 60LL * 60 * 1000;

  // Options of the link between the nodes.
  std::string job_secret;  // secret file that all nodes have; "" = ssh_key
  std::optional<int> link_port;
  std::int64_t link_timeout_ms = 30'000;  // silence of this length is a failure
  std::optional<OnNodeFailure> on_node_failure;

  // Options of the environment.
  std::string conda_env;  // a name, or a prefix
  std::string conda_dir;  // installation to use instead of ANACONDA_DIR
  std::int64_t script_timeout_ms =
      60LL * 1000;        // for activate.d, set_env.sh and similar scripts together
  bool conda_lib = true;  // add <prefix>/lib to LD_LIBRARY_PATH

  // The job's policy as the options state it. The optional members below have their defaults in it.
  // If one is unset, platform, terminal and hooks decide (policy_of() in
  // envgen/resolve/restart_policy.h).
  base::Policy policy;
  std::optional<std::int64_t> grace_ms;
  std::optional<std::int64_t> failure_grace_ms;
  std::optional<std::int64_t> hold_ms;   // unset: 4 h with a terminal, 0 without
  std::optional<int> checkpoint_signal;  // 0 = none; unset = USR1 if no hook saves
  std::optional<int> max_restarts;
  std::optional<base::RestartVerdict> restart_verdict;  // unset: it is enforced

  // Options of hooks: see envgen/resolve/hooks.h.
  std::string hooks_dir;         // further directory besides /etc/trainit/hooks
  std::string lifecycle_script;  // program called at each event, with its name
  HookTimes hook_timeouts = {};
  std::optional<std::vector<HookEvent>> fatal_hooks;  // unset: pre-start

  // Options of restarts, also for a job in several containers.
  bool restart_across_nodes = false;
  std::int64_t device_wait_ms = 30'000;               // for other processes to release the devices
  std::int64_t restart_window_ms = 30LL * 60 * 1000;  // for the other nodes to arrive
  std::optional<int> min_nodes;
  std::vector<std::string> warm;       // modules, or kWarmAuto (envgen/plan/warm.h); empty = none
  std::vector<std::string> warm_free;  // variables that may differ at a warm restart

  std::string terminal;  // service beside the job: "1" sshd, "0" none, else a command; "" = none

  Observation observe;
  DataRequest data;
  std::optional<bool> log_prefix;  // "[rank 3] " if several share stdout; unset: with kTee

  // Sandbox of the job's processes, not of PID 1.
  SandboxRequest sandbox;
};

}  // namespace envgen
