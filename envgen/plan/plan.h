#pragma once
// The plan: all that run will do, as a value. It is printed by `trainit plan`, executed by `trainit
// run`, compared by tests. Nothing in it depends on when it is made.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/lazy_text.h"
#include "base/policy.h"
#include "base/result.h"
#include "base/shown_lines.h"
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
  LazyText content;
  std::string copy_of =
      {};  // its content is this file's instead, whose bytes no plan holds (a key)

  bool operator==(const PlannedFile&) const = default;
};

struct PlannedDirectory {
  std::string path;
  bool clean = false;   // emptied first
  bool of_job = false;  // what is made of it belongs to the job's user

  bool operator==(const PlannedDirectory&) const = default;
};

// How a launcher keeps the output of its ranks below Process::rank_dir.
enum class RankLogs : unsigned char {
  kNone,      // not at all, or not where we know it
  kTorchrun,  // RUN/attempt_N/LOCAL_RANK/: error.json, and stdout.log, stderr.log if it redirects
  kMsrun,     // worker_RANK.log
};

struct Process {
  std::string name;  // "rank-3", "main"
  int rank = -1;     // job-wide; -1 for a process that is none
  int device = -1;   // physical id of its device, -1 without one
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<EnvEdit> env;
  std::string log;       // stdout and stderr go there; "" = inherited
  std::string env_file;  // its environment is saved there; "" = no
  // Its stdout and stderr are pipes (terminals where ours are) that the node's tee process reads:
  // it writes them to `log` and, with `echo`, to our own, each line behind `prefix`.
  bool tee = false;
  bool echo = false;
  std::string prefix = {};
  std::string cpus = {};         // the CPUs that it may use, "0-7,16-23"; "" = as they are
  std::string cpus_reason = {};  // why these; not PID 1's to know
  RankLogs rank_logs = RankLogs::kNone;
  std::string rank_dir = {};
  bool of_job = false;  // a service with the job's rights and environment instead of trainit's

  bool operator==(const Process&) const = default;
};
inline void fields(FieldVisitor& v, Process& process) {
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
  std::string address;  // of the node with rank 0
  int port = 0;
  int node_rank = 0;
  int node_count = 1;
  int master_port = 0;      // 0, or the nodes start together: this one must be free before they do
  bool stops = true;        // a failure on one node ends the job on all; else they are told
  bool loss_counts = true;  // so does the loss of one,
  bool stop_counts = true;  // and the stop of one
  std::int64_t timeout_ms = 0;   // of silence
  std::string secret_file = {};  // that proves who is a node of the job; "" = none does
  // Of a worker whose launcher is node 0: what tells this node's sshd what has become of that.
  std::vector<std::string> tell_sshd = {};
  // The resolver's, for the process that keeps the connection; in no JSON.
  std::uint64_t cluster = 0;            // a digest of the list of nodes
  std::string common = {};              // without a secret: what all nodes are told alike
  std::string secret = {};              // that all nodes have; "" = none
  std::vector<std::string> names = {};  // of the nodes, by rank; but for node 0 the first one alone

  bool operator==(const NodeLink&) const = default;
};
void fields(FieldVisitor& v, NodeLink& link);
// The text for a link without a secret.
inline constexpr const char* kNoSecret =
    "no secret: any process that reaches the port and knows the nodes' names can join as a node "
    "(--job-secret)";

// The devices whose holders have to let go of them before a restart: a device that the last start
// has not left yet refuses the next one, or lacks its memory.
struct DeviceWait {
  struct Device {
    std::string path;         // "/dev/nvidia0"
    std::string bus_id = {};  // as sysfs has it, "0000:0a:00.0"; "" = not known
    bool operator==(const Device&) const = default;
  };
  std::vector<Device> devices;
  std::int64_t timeout_ms = 0;

  bool operator==(const DeviceWait&) const = default;
};

// Host name of MindSpore's scheduler; replaced by an IPv4 address when the processes start.
struct Scheduler {
  std::string host;
  bool here = false;  // this node starts it

  bool operator==(const Scheduler&) const = default;
};

// Peers that must answer before the processes start: each one's sshd, asked by the ssh client.
struct PeerWait {
  std::vector<std::string> hosts;
  std::vector<std::string> probe;  // the ssh command; a host and what to run there are appended
  std::int64_t timeout_ms = 0;

  bool operator==(const PeerWait&) const = default;
};

// A wait that has to end before the job can be planned.
struct Wait {
  std::string path;
  std::string why;  // why it is not over yet; "" when it is
  std::int64_t timeout_ms = 0;

  bool operator==(const Wait&) const = default;
};

struct Plan {
  std::string platform;
  std::string platform_reason;
  std::string framework;
  std::optional<Cluster> cluster;  // nothing while pending, and for a job of one node without one
  std::optional<LocalNode> local_node;
  int node_count = 1;
  int world_size = 1;
  std::uint64_t cluster_id = 0;      // the resolver's digest of `cluster`, which PID 1 is not sent
  std::uint64_t claim = 0;           // a digest of what this node runs (claim.h); 0 = none
  std::vector<EnvEdit> env;          // of every process below, before its own edits
  std::vector<std::string> scripts;  // sourced by a shell before the start, in this order; what
                                     // they change is added to `env`
  std::vector<std::string> leave_scripts;  // before those, and before `env` holds: of a conda
                                           // environment that was active
  std::string shell;                       // the one that sources them, "" = there is none
  std::vector<PlannedDirectory> directories;
  std::vector<PlannedFile> files;
  std::optional<PeerWait> peers;
  std::vector<Process> processes;
  std::vector<Process> services;          // beside the job; their end is no failure
  std::vector<HookGroup> hooks;           // only events that have some
  std::vector<EnvEdit> hook_env;          // the plan's facts, for hooks
  std::optional<DeviceWait> device_wait;  // before a restart; the resolver's, not PID 1's
  std::optional<NodeLink> link;
  // MASTER_PORT of the processes stands for one that is free when they start; not PID 1's to know.
  bool free_master_port = false;
  std::optional<Scheduler> scheduler;  // not PID 1's to know
  bool elastic_launcher = false;   // it goes on without a node that is lost; not PID 1's to know
  std::vector<Process> post_stop;  // one after the other after the job, with TRAINIT_EXIT_CODE set
  Sandbox sandbox;                 // of `processes`
  Policy policy;
  Observation observe;
  WarmPlan warm;
  std::vector<Dataset> datasets;  // copied beside the resolver, as `data` says; PID 1 has them from
  DataRequest data;               // its own request
  std::vector<Wait> waits;
  std::vector<std::string> warnings;

  bool operator==(const Plan&) const = default;
};

bool has_hooks(const Plan& plan, HookEvent event);
// Whether `event` has hooks other than the lifecycle script, which is called for every event,
// whether it has something to do there or not.
bool has_own_hooks(const Plan& plan, HookEvent event);

// The stop of a job with this plan, its stop request at 0.
Budget stop_budget(const Plan& plan);

// Puts `processes` into a sandbox. With a user of its own the job has that user's HOME, USER and
// LOGNAME; the last two stay as they are for a user without a name.
void confine(Plan& plan, Sandbox sandbox);
// What can be told of a sandbox without its machine: for plans of another one. What else was asked
// for becomes a warning.
void confine_unprepared(Plan& plan, const SandboxRequest& request);

// The object that `trainit plan --json` prints: platform, framework, cluster, self, files,
// processes, services, hooks, data, policy, waits, warnings. `base` is the environment that the
// edits are applied to; values of secret-looking variables are masked.
std::string plan_to_json(const Plan& plan, const Environ& base);

// The same for a person.
ShownLines plan_to_text(const Plan& plan, const Environ& base);

// The part of a plan that PID 1 needs, as bytes (wire.h): the resolver child has done the rest.
std::string encode_plan(const Plan& plan);
// Refuses what is cut, overlong, or not ours; never reads outside `bytes`.
Result<Plan> decode_plan(std::string_view bytes);

}  // namespace envgen
