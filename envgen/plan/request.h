#pragma once
// The part of the user's request that decides the plan. The command line fills it (init/cli). If a
// member is empty or unset, the platform decides.

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

// The ids in ASCEND_DEVICE_ID and DEVICE_ID. A logical id is the index among this node's devices,
// as on ModelArts. A physical id is the number that npu-smi shows on the host, as in the MindSpore
// document on bare metal.
enum class DeviceIds : unsigned char { kLogical, kPhysical };

// Where the output of a job's processes goes.
enum class Output : unsigned char {
  kFirst,    // the node's first rank inherits stdout and stderr, each other rank has a file
  kInherit,  // all ranks inherit stdout and stderr
  kFiles,    // a file for each rank
  kTee,      // a file for each rank, and a copy of its output on stdout and stderr
};

// How PyTorch's ranks of a node are started.
enum class TorchLauncher : unsigned char { kTorchrun, kLaunch, kFanOut };

// How the processes of an Ascend job find each other.
enum class AscendLauncher : unsigned char {
  kRankTable,  // one process per device, each reads the rank table
  kMsrun,      // MindSpore's msrun starts them
  kDynamic,    // one process per device with MindSpore's dynamic cluster variables
};

// The unit that RANK and WORLD_SIZE count, if the platform does not define it.
enum class RankMeans : unsigned char {
  kNode,     // nodes: trainit starts the ranks of each
  kProcess,  // processes: this container is one rank
};

// The effect of a failure on one node on the other nodes.
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
  std::string devices;            // devices of a table that trainit makes from hccn.conf: "0,1,4-7"
  std::optional<DeviceIds> device_ids;
  std::optional<Output> output;
  std::string work_dir;  // parent of the device<i> directories
  std::string log_dir;
  bool strict = false;
  bool clean_device_dirs = false;
  std::int64_t rank_table_timeout_ms = 30LL * 60 * 1000;

  // Options for clusters without a rank table.
  std::optional<int> nodes;  // number of nodes, if the platform does not give it
  std::string hosts;         // "a:8,b:8": host[:slots], in node-rank order
  std::optional<int> slots;  // ranks per node
  std::optional<RankMeans> rank_means;
  std::string master_addr;
  std::optional<int> master_port;
  std::optional<TorchLauncher> torch_launcher;
  std::optional<AscendLauncher> ascend_launcher;
  std::optional<bool> tf_flags;  // add --task_index and similar flags after the script (ModelArts)

  // Options for MPI and DeepSpeed: the sshd of the workers.
  std::optional<int> ssh_port;
  std::string ssh_key;  // file of the private key, which all nodes have
  std::int64_t peer_timeout_ms = 10LL * 60 * 1000;
  std::int64_t launcher_timeout_ms = 60LL * 60 * 1000;

  // Options for the link between the nodes.
  std::string job_secret;  // file with a secret that all nodes have; "" = ssh_key
  std::optional<int> link_port;
  std::int64_t link_timeout_ms = 30'000;  // a node from which nothing arrives for this time is lost
  std::optional<OnNodeFailure> on_node_failure;

  // Options for the environment.
  std::string conda_env;  // a name, or a prefix
  std::string conda_dir;  // conda installation that replaces ANACONDA_DIR
  // time limit for activate.d, set_env.sh and similar scripts together
  std::int64_t script_timeout_ms = 60LL * 1000;
  bool conda_lib = true;  // add <prefix>/lib to LD_LIBRARY_PATH

  // The job's policy as the options state it. For the optional members below, the policy contains
  // their defaults. If one of them is unset, platform, terminal and hooks decide (policy_of() in
  // envgen/resolve/restart_policy.h).
  base::Policy policy;
  std::optional<std::int64_t> grace_ms;
  std::optional<std::int64_t> failure_grace_ms;
  std::optional<std::int64_t> hold_ms;   // unset: 4 h if there is a terminal, otherwise 0
  std::optional<int> checkpoint_signal;  // 0 = no signal; unset = USR1 if no hook saves
  std::optional<int> max_restarts;
  std::optional<base::RestartVerdict> restart_verdict;  // unset: kEnforce

  // Options for hooks: see envgen/resolve/hooks.h.
  std::string hooks_dir;         // further directory besides /etc/trainit/hooks
  std::string lifecycle_script;  // program that is called at each event, with the event's name
  HookTimes hook_timeouts = {};
  std::optional<std::vector<HookEvent>> fatal_hooks;  // unset: pre-start

  // Options for restarts, also of a job in several containers.
  bool restart_across_nodes = false;
  std::int64_t device_wait_ms = 30'000;  // time limit for other processes to release the devices
  std::int64_t restart_window_ms = 30LL * 60 * 1000;  // time limit for the other nodes to be ready
                                                      // for the restart
  std::optional<int> min_nodes;
  std::vector<std::string> warm;       // modules that a spare imports, or kWarmAuto
                                       // (envgen/plan/warm.h); empty = no warm restarts
  std::vector<std::string> warm_free;  // variables that may differ at a warm restart

  std::string terminal;  // service beside the job: "1" = sshd, "0" = none, other texts = a command;
                         // "" = none requested

  Observation observe;
  DataRequest data;
  std::optional<bool> log_prefix;  // "[rank 3] " before each line on a shared stdout; unset: only
                                   // with kTee

  // Sandbox of the job's processes, not of PID 1.
  SandboxRequest sandbox;
};

}  // namespace envgen
