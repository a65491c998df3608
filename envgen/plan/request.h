#pragma once
// What the user asked for, as far as it decides the plan. The command line fills it (init/cli);
// an empty or unset member leaves the choice to the platform profile.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// Whom a stop signal goes to.
enum class StopScope : unsigned char {
  kMain,   // the main processes: their data-loader workers are theirs to stop
  kGroup,  // the main processes' groups
  kTree,   // each process below us, once, whatever its session
};

// A further signal to main processes that do not end after the stop signal.
struct Escalation {
  int signal = 0;
  std::int64_t after_ms = 0;  // since the stop request; before the KILL, which always comes

  bool operator==(const Escalation&) const = default;
};

// The container ends with `to` where the job ended with one of first .. last.
struct ExitCodeRule {
  int first = 0;
  int last = 0;
  int to = 0;

  bool operator==(const ExitCodeRule&) const = default;
};

// A range of exit codes, both ends included.
struct CodeRange {
  int first = 0;
  int last = 0;

  bool operator==(const CodeRange&) const = default;
};

// What a signal that trainit receives becomes (--signal).
struct SignalRule {
  enum class Kind : unsigned char {
    kSignal,      // the job is sent `to` instead
    kCheckpoint,  // the job is asked for a checkpoint and then ended, with exit code 75
    kFile,        // the file `path` is made, or its mtime set: a trigger that the job polls for
    kNothing,     // it is dropped
    kForward,     // the job is sent it, and nothing else: a stop signal then stops nothing
  };
  int from = 0;
  Kind kind = Kind::kSignal;
  int to = 0;
  std::string path = {};

  bool operator==(const SignalRule&) const = default;
};

inline bool asks_for_checkpoint(const std::vector<SignalRule>& rules) {
  return std::ranges::find(rules, SignalRule::Kind::kCheckpoint, &SignalRule::kind) != rules.end();
}

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
  std::optional<std::int64_t> grace_ms;
  std::int64_t rank_table_timeout_ms = 30LL * 60 * 1000;
  std::optional<std::int64_t> hold_ms;  // else 4 h with a terminal, none without

  // Clusters without a rank table.
  std::optional<int> nodes;  // how many, where the platform does not say
  std::string hosts;         // "a:8,b:8": host[:slots], in node-rank order
  std::optional<int> slots;  // ranks per node
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

  // The environment.
  std::string conda_env;  // a name, or a prefix
  std::string conda_dir;  // the installation, instead of ANACONDA_DIR
  std::int64_t script_timeout_ms =
      60LL * 1000;        // of activate.d, set_env.sh and their like, together
  bool conda_lib = true;  // <prefix>/lib in LD_LIBRARY_PATH

  // The end.
  StopScope stop_scope = StopScope::kMain;
  std::vector<Escalation> escalation;    // by time
  std::vector<ExitCodeRule> exit_codes;  // the first that fits counts

  std::vector<SignalRule> signals;
  bool second_term_kills = false;  // as a second INT does; platforms repeat their TERM
  std::int64_t drain_ms = 0;       // from a stop request to the job's stop signal

  // Hooks: see envgen/resolve/hooks.h.
  std::string hooks_dir;         // beside /etc/trainit/hooks
  std::string lifecycle_script;  // called for each event, with its name
  HookTimes hook_timeouts = {};
  std::optional<std::vector<HookEvent>> fatal_hooks;  // else pre-start

  // Checkpoint and continue.
  std::optional<int> checkpoint_signal;  // to the ranks; 0 = none. Else USR1 where no hook saves
  std::optional<std::int64_t> checkpoint_timeout_ms;

  // Restart on failure.
  std::optional<int> max_restarts;
  std::optional<std::int64_t> restart_delay_ms;  // of the first; doubled at each
  std::vector<CodeRange> no_restart_on;
  bool restart_across_nodes = false;
  std::int64_t restart_window_ms = 30LL * 60 * 1000;  // for the other nodes to arrive
  bool elastic = false;                               // also when the list of nodes changes
  std::optional<int> min_nodes;

  std::optional<std::int64_t> max_duration_ms;  // of the job, restarts included
  std::string terminal;  // beside the job: "1" sshd, "0" none, else a command line; "" = none

  Observation observe;
  DataRequest data;
  std::optional<bool> log_prefix;  // "[rank 3] " where several share stdout; else with kTee

  // Of the job's processes, not of PID 1.
  SandboxRequest sandbox;
};

}  // namespace envgen
