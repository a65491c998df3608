#pragma once
// The plan: all that `trainit run` will do, as a value. `trainit plan` prints it, `trainit run`
// executes it, tests compare it. The time at which it is made has no influence on it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/lazy_text.h"
#include "base/policy.h"
#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/hook_event.h"
#include "envgen/plan/observation.h"
#include "envgen/plan/request.h"
#include "envgen/plan/sandbox.h"
#include "envgen/plan/warm.h"

namespace envgen {

struct PlannedFile {
  std::string path;
  std::uint32_t mode = 0644;
  base::LazyText content;
  std::string copy_of =
      {};  // path of a file with the content, whose bytes no plan may hold (a key)

  bool operator==(const PlannedFile&) const = default;
};

struct PlannedDirectory {
  std::string path;
  bool clean = false;   // empty the directory first
  bool of_job = false;  // what trainit creates of it belongs to the job's user

  bool operator==(const PlannedDirectory&) const = default;
};

// The files in which a launcher keeps the output of its ranks, below Process::rank_dir.
enum class RankLogs : unsigned char {
  kNone,      // no files, or at a place that is not known
  kTorchrun,  // RUN/attempt_N/LOCAL_RANK/: error.json, and stdout.log, stderr.log if it redirects
  kMsrun,     // worker_RANK.log
};

struct Process {
  std::string name;  // "rank-3", "main"
  int rank = -1;     // job-wide; -1 for a process that is not a rank
  int device = -1;   // physical id of its device, -1 without one
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<base::EnvEdit> env;
  std::string log;       // file for stdout and stderr; "" = inherited
  std::string env_file;  // file to which its environment is saved; "" = none
  // If true, stdout and stderr are pipes (terminals if trainit's are) that the node's tee process
  // reads. The tee writes them to `log` and, with `echo`, to trainit's own, each line after
  // `prefix`.
  bool tee = false;
  bool echo = false;
  std::string prefix = {};
  std::string cpus = {};         // CPUs that it may use, "0-7,16-23"; "" = unchanged
  std::string cpus_reason = {};  // reason for these CPUs; not sent to PID 1
  RankLogs rank_logs = RankLogs::kNone;
  std::string rank_dir = {};
  bool of_job = false;  // a service that has the job's rights and environment instead of trainit's

  bool operator==(const Process&) const = default;
};
inline void fields(base::FieldVisitor& v, Process& process) {
  v("name", process.name);
  v("rank", process.rank);
  v("device", process.device);
  v("argv", process.argv, {.most_items = 1U << 20});
  v("cwd", process.cwd);
  v("env", process.env);
  v("log", process.log);
  v("env_file", process.env_file);
  v("tee", process.tee);
  v("echo", process.echo);
  v("prefix", process.prefix);
  v("cpus", process.cpus);
  v("rank_logs", process.rank_logs, RankLogs::kMsrun);
  v("rank_dir", process.rank_dir);
  v("of_job", process.of_job);
}

// The connection that each node of a job keeps to node 0, from its first start to its end.
struct NodeLink {
  std::string address;  // address of node 0
  int port = 0;
  int node_rank = 0;
  int node_count = 1;
  int master_port = 0;           // if not 0, the nodes start together, after this port is free
  bool stops = true;             // one node's failure ends the job on all; false = it is announced
  bool loss_counts = true;       // the loss of a node is a failure
  bool stop_counts = true;       // the stop of a node is a failure
  std::int64_t timeout_ms = 0;   // time without a message
  std::string secret_file = {};  // file with the secret that proves membership; "" = no proof
  // For a worker whose launcher runs on node 0: the command that reports the launcher's state to
  // this node's sshd.
  std::vector<std::string> tell_sshd = {};
  // Set by the resolver for the process that keeps the connection; in no JSON.
  std::uint64_t cluster = 0;            // digest of the list of nodes
  std::string common = {};              // without a secret: key made from the nodes' names
  std::string secret = {};              // secret that all nodes have; "" = none
  std::vector<std::string> names = {};  // node names by rank; only node 0 has more than the first

  bool operator==(const NodeLink&) const = default;
};
void fields(base::FieldVisitor& v, NodeLink& link);
// The text for a link without a secret.
inline constexpr const char* kNoSecret =
    "no secret: any process that reaches the port and knows the nodes' names can join as a node "
    "(--job-secret)";

// The devices that must be free before a restart. A device that a process of the last start still
// holds refuses the next one, or lacks its memory.
struct DeviceWait {
  struct Device {
    std::string path;         // "/dev/nvidia0"
    std::string bus_id = {};  // PCI address as in sysfs, "0000:0a:00.0"; "" = not known
    bool operator==(const Device&) const = default;
  };
  std::vector<Device> devices;
  std::int64_t timeout_ms = 0;

  bool operator==(const DeviceWait&) const = default;
};

// Host name of MindSpore's scheduler. An IPv4 address replaces it when the processes start.
struct Scheduler {
  std::string host;
  bool here = false;  // this node starts the scheduler

  bool operator==(const Scheduler&) const = default;
};

// Peers whose sshd must answer before the processes start. The ssh client asks each one.
struct PeerWait {
  std::vector<std::string> hosts;
  std::vector<std::string> probe;  // ssh command; a host and the command to run there are appended
  std::int64_t timeout_ms = 0;

  bool operator==(const PeerWait&) const = default;
};

// A wait that must end before the job can be planned.
struct Wait {
  std::string path;
  std::string why;  // reason why the wait continues; "" = it is over
  std::int64_t timeout_ms = 0;

  bool operator==(const Wait&) const = default;
};

struct Plan {
  std::string platform;
  std::string platform_reason;
  std::string framework;
  std::optional<Cluster> cluster;  // not set while pending, nor for a single node without a cluster
  std::optional<LocalNode> local_node;
  int node_count = 1;
  int world_size = 1;
  std::uint64_t cluster_id = 0;    // resolver's digest of `cluster`, which PID 1 does not get
  std::uint64_t claim = 0;         // digest of what this node runs (claim.h); 0 = none
  std::vector<base::EnvEdit> env;  // for every process below, before its own edits
  // Scripts that a shell sources before the start, in this order. Their changes are added to `env`.
  std::vector<std::string> scripts;
  // Scripts sourced before `scripts`, and before `env` applies, to leave an active conda
  // environment.
  std::vector<std::string> leave_scripts;
  std::string shell;  // shell that sources them; "" = not found
  std::vector<PlannedDirectory> directories;
  std::vector<PlannedFile> files;
  std::optional<PeerWait> peers;
  std::vector<Process> processes;
  std::vector<Process> services;          // run beside the job; their exit is no failure
  std::vector<HookGroup> hooks;           // only events that have hooks
  std::vector<base::EnvEdit> hook_env;    // plan's facts as variables for hooks
  std::optional<DeviceWait> device_wait;  // before a restart; not sent to PID 1
  std::optional<NodeLink> link;
  // If true, the resolver replaces MASTER_PORT of the processes by a port that is free when they
  // start. Not sent to PID 1.
  bool free_master_port = false;
  std::optional<Scheduler> scheduler;  // not sent to PID 1
  bool elastic_launcher = false;   // the launcher continues without a lost node; not sent to PID 1
  std::vector<Process> post_stop;  // run one by one after the job, with TRAINIT_EXIT_CODE set
  Sandbox sandbox;                 // applies to `processes`
  base::Policy policy;
  Observation observe;
  WarmPlan warm;
  std::vector<Dataset> datasets;  // copied beside the resolver
  DataRequest data;               // options of `datasets`; PID 1 has both from its own request
  std::vector<Wait> waits;
  std::vector<std::string> warnings;

  bool operator==(const Plan&) const = default;
};

bool has_hooks(const Plan& plan, HookEvent event);
// Returns whether `event` has hooks other than the lifecycle script, which runs at every event,
// even if it has nothing to do there.
bool has_own_hooks(const Plan& plan, HookEvent event);

// Returns the times of a stop of a job with this plan; the stop request is at 0.
base::Budget stop_budget(const Plan& plan);

// Puts `processes` into a sandbox. If the job has its own user, it gets that user's HOME, USER and
// LOGNAME. For a user without a name, USER and LOGNAME are unchanged.
void confine(Plan& plan, Sandbox sandbox);
// Applies the part of a sandbox that is known without the job's machine, for plans of another
// machine. The other requested parts become a warning.
void confine_unprepared(Plan& plan, const SandboxRequest& request);

// Returns the object that `trainit plan --json` prints: platform, framework, cluster, self, files,
// processes, services, hooks, data, policy, waits, warnings. `base` is the environment to which the
// edits are applied. Values of variables that look like secrets are masked.
std::string plan_to_json(const Plan& plan, const base::Environ& base);

// Returns the part of a plan that PID 1 needs, as bytes (wire.h). The resolver child has done the
// rest.
std::string encode_plan(const Plan& plan);
// Refuses bytes that are cut, too long or not a plan. Never reads outside `bytes`.
base::Result<Plan> decode_plan(std::string_view bytes);

}  // namespace envgen
