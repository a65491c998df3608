#pragma once
// The plan: everything that `trainit run` will do, as a value. `trainit plan` prints it, `trainit
// run` executes it, tests compare it. It does not depend on the time at which it is made.

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
  std::string copy_of = {};  // path of a file whose bytes become the content; for bytes that no
                             // plan may contain (a key)

  bool operator==(const PlannedFile&) const = default;
};

struct PlannedDirectory {
  std::string path;
  bool clean = false;   // empty the directory first
  bool of_job = false;  // directories that trainit creates for this path belong to the job's user

  bool operator==(const PlannedDirectory&) const = default;
};

// The files in which a launcher keeps the output of its ranks, in the directory Process::rank_dir.
enum class RankLogs : unsigned char {
  kNone,      // no files, or their place is not known
  kTorchrun,  // RUN/attempt_N/LOCAL_RANK/: error.json; stdout.log and stderr.log if torchrun
              // redirects output
  kMsrun,     // worker_RANK.log
};

struct Process {
  std::string name;  // "rank-3", "main"
  int rank = -1;     // job-wide; -1 for a process that is not a rank
  int device = -1;   // physical id of its device; -1: no device
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<base::EnvEdit> env;
  std::string log;       // file for stdout and stderr; "" = inherited
  std::string env_file;  // file to which its environment is saved; "" = none
  // If true, stdout and stderr are pipes (terminals if trainit's are) to the tee process of the
  // node. The tee writes the output to `log`. With `echo` it also writes it to trainit's own stdout
  // and stderr, each line after `prefix`.
  bool tee = false;
  bool echo = false;
  std::string prefix = {};
  std::string cpus = {};         // CPUs that the process may use, "0-7,16-23"; "" = unchanged
  std::string cpus_reason = {};  // why it has these CPUs; not sent to PID 1
  RankLogs rank_logs = RankLogs::kNone;
  std::string rank_dir = {};
  bool of_job = false;  // for a service: it has the job's rights and environment instead of
                        // trainit's

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

// The link of a node to node 0. Each node of a job keeps it from the job's first start to its end.
struct NodeLink {
  std::string address;  // address of node 0
  int port = 0;
  int node_rank = 0;
  int node_count = 1;
  int master_port = 0;  // if not 0, all nodes start at the same time, after node 0 finds this port
                        // unused
  bool stops = true;    // true = a node's failure ends the job on all nodes; false = they are only
                        // informed
  bool loss_counts = true;       // the loss of a node is a failure
  bool stop_counts = true;       // the stop of a node is a failure
  std::int64_t timeout_ms = 0;   // a node from which nothing arrives for this time is lost
  std::string secret_file = {};  // file with the secret that proves membership; "" = no proof
  // Only for a worker whose launcher runs on node 0: the command that reports the launcher's state
  // to the sshd of this node.
  std::vector<std::string> tell_sshd = {};
  // Set by the resolver for the process that keeps the link. The members below are not in a plan's
  // JSON.
  std::uint64_t cluster = 0;  // digest of the list of nodes, which must be equal on all nodes
  std::string common = {};    // without a secret: a key made from the nodes' names
  std::string secret = {};    // secret that all nodes have; "" = none
  std::vector<std::string> names = {};  // node names by rank on node 0; on other nodes only the
                                        // name of node 0

  bool operator==(const NodeLink&) const = default;
};
void fields(base::FieldVisitor& v, NodeLink& link);
// The text of `trainit plan` about a link without a secret.
inline constexpr const char* kNoSecret =
    "no secret: any process that reaches the port and knows the nodes' names can join as a node "
    "(--job-secret)";

// The devices that must be free before a restart. Reason: while a process of the previous start
// still holds a device, the device refuses the next process or lacks memory for it.
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

// The host name of MindSpore's scheduler. When the processes start, it is replaced by an IPv4
// address.
struct Scheduler {
  std::string host;
  bool here = false;  // this node starts the scheduler

  bool operator==(const Scheduler&) const = default;
};

// Hosts whose sshd must answer before the processes start. An ssh client tries each of them.
struct PeerWait {
  std::vector<std::string> hosts;
  std::vector<std::string> probe;  // ssh command that tries a host; the host and a command to run
                                   // there are appended
  std::int64_t timeout_ms = 0;

  bool operator==(const PeerWait&) const = default;
};

// A condition that must hold before the job can be planned, such as a complete rank table.
struct Wait {
  std::string path;
  std::string why;  // why it is still waited for; "" = the wait is over
  std::int64_t timeout_ms = 0;

  bool operator==(const Wait&) const = default;
};

struct Plan {
  std::string platform;
  std::string platform_reason;
  std::string framework;
  std::optional<Cluster> cluster;  // unset while pending, and for a single node without a cluster
  std::optional<LocalNode> local_node;
  int node_count = 1;
  int world_size = 1;
  std::uint64_t cluster_id = 0;  // digest of `cluster`, which PID 1 does not get
  std::uint64_t claim = 0;  // digest of what this node runs, to find a second trainit that runs it
                            // (claim.h); 0 = none
  std::vector<base::EnvEdit> env;  // edits for every process; applied before the process's own
                                   // edits
  // Scripts that a shell sources, in this order, before the processes start. The variables that
  // they change are added to `env`.
  std::vector<std::string> scripts;
  // Scripts that are sourced before `scripts`, without the edits of `env`, to deactivate an active
  // conda environment.
  std::vector<std::string> leave_scripts;
  std::string shell;  // the shell that sources the scripts; "" = not found
  std::vector<PlannedDirectory> directories;
  std::vector<PlannedFile> files;
  std::optional<PeerWait> peers;
  std::vector<Process> processes;
  std::vector<Process> services;          // processes beside the job, whose exit is no failure
  std::vector<HookGroup> hooks;           // groups of the events that have hooks
  std::vector<base::EnvEdit> hook_env;    // the plan's facts as variables for hooks
  std::optional<DeviceWait> device_wait;  // before a restart; not sent to PID 1
  std::optional<NodeLink> link;
  // If true, the resolver replaces MASTER_PORT of the processes by a port that is free when they
  // start. Not sent to PID 1.
  bool free_master_port = false;
  std::optional<Scheduler> scheduler;  // not sent to PID 1
  bool elastic_launcher = false;   // the launcher continues if a node is lost; not sent to PID 1
  std::vector<Process> post_stop;  // processes that run one by one after the job, with
                                   // TRAINIT_EXIT_CODE set
  Sandbox sandbox;                 // sandbox of `processes`
  base::Policy policy;
  Observation observe;
  WarmPlan warm;
  std::vector<Dataset> datasets;  // datasets, copied while the resolver runs
  DataRequest data;               // options of `datasets`; PID 1 has both from its own request
  std::vector<Wait> waits;
  std::vector<std::string> warnings;

  bool operator==(const Plan&) const = default;
};

bool has_hooks(const Plan& plan, HookEvent event);
// Returns true if `event` has hooks besides the lifecycle script. That script does not count,
// because it is called at every event, even if it does nothing there.
bool has_own_hooks(const Plan& plan, HookEvent event);

// Returns the times of a stop under this plan, if the stop is requested at time 0.
base::Budget stop_budget(const Plan& plan);

// Puts `processes` into a sandbox. If the job has its own user, its processes get that user's HOME,
// USER and LOGNAME. If that user has no name, USER and LOGNAME are unchanged.
void confine(Plan& plan, Sandbox sandbox);
// Applies the part of a sandbox that is known without the machine on which the job will run. For a
// plan that is made on another machine. A warning names the other parts that were requested.
void confine_unprepared(Plan& plan, const SandboxRequest& request);

// Returns the object that `trainit plan --json` prints: platform, framework, cluster, self, files,
// processes, services, hooks, data, policy, waits, warnings. `base` is the environment to which the
// edits are applied. Values of variables that look like secrets are masked.
std::string plan_to_json(const Plan& plan, const base::Environ& base);

// Returns the part of a plan that PID 1 needs, as bytes (wire.h). The other parts are work for the
// resolver child.
std::string encode_plan(const Plan& plan);
// Decodes a plan of encode_plan(). Refuses bytes that are cut off, too long or not a plan. Never
// reads outside `bytes`.
base::Result<Plan> decode_plan(std::string_view bytes);

}  // namespace envgen
