#include "init/doctor/doctor.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/doctor/parallel.h"

namespace doctor {
namespace {

constexpr auto kChecks = std::to_array({
    Check{"plan", "the job can be planned", check_plan},
    Check{"devices", "GPUs, MLUs, NPUs in /dev, and the variables that name them", check_devices},
    Check{"gpu", "what nvidia-smi says of each GPU", check_gpu},
    Check{"xid", "what the kernel's log has of the GPUs' errors", check_xid},
    Check{"npu", "what npu-smi says of each chip", check_npu},
    Check{"ranktable", "the rank table, against the devices that are here", check_ranktable},
    Check{"shm", "/dev/shm is there and large enough", check_shm},
    Check{"memory", "the container's memory; what an OOM kill ends", check_memory},
    Check{"cpu", "CPUs and quota for the ranks", check_cpu},
    Check{"memlock", "locked memory, for RDMA", check_memlock},
    Check{"nofile", "open files", check_nofile},
    Check{"pids", "processes and threads", check_pids},
    Check{"disk", "room in the directories that are written", check_disk},
    Check{"datasets", "data sets are there, and mounted read-only", check_datasets},
    Check{"network", "interfaces are up, those that variables name exist", check_network},
    Check{"rdma", "ports of InfiniBand and RoCE are active, their MTUs", check_rdma},
    Check{"hosts", "the names of the other nodes are known", check_hosts},
    Check{"peers", "the other nodes answer", check_peers},
    Check{"clock", "the clocks are sane", check_clock},
    Check{"kernel", "its version, and the calls that trainit and jobs use", check_kernel},
    Check{"seccomp", "what a seccomp profile answers", check_seccomp},
    Check{"user", "who the job is, and what it may", check_user},
});

// The port that is tried on other nodes. A node that is alive answers on any port, even if with a
// refusal.
constexpr int kAnyPort = 29500;

void take_hosts(std::string_view list, std::vector<OtherNode>& other_nodes) {
  for (std::string& host : split_list(list))
    other_nodes.push_back({.host = std::move(host), .port = 0});
}

// Adds the other nodes from the variables for hooks, because the plan that PID 1 has contains no
// cluster.
void add_told_peers(const std::vector<base::EnvEdit>& edits, Context& context) {
  int own = 0;
  int port = kAnyPort;
  for (const base::EnvEdit& edit : edits) {
    if (edit.name == "TRAINIT_NODE_RANK") own = base::parse_number<int>(edit.value).value_or(0);
    if (edit.name == "TRAINIT_MASTER_PORT") port = base::parse_number<int>(edit.value).value_or(0);
    if (edit.name == "TRAINIT_HOSTS") take_hosts(edit.value, context.other_nodes);
    if (edit.name != "TRAINIT_LOCAL_WORLD_SIZE") continue;
    context.ranks = std::max(context.ranks, base::parse_number<int>(edit.value).value_or(0));
  }
  for (OtherNode& node : context.other_nodes) node.port = port;
  if (own < std::ssize(context.other_nodes))
    context.other_nodes.erase(context.other_nodes.begin() + own);
}

void add_peers(const envgen::Plan& plan, Context& context) {
  const envgen::Cluster& cluster = *plan.cluster;
  const int own = plan.local_node ? plan.local_node->node_rank : -1;
  // Takes the number of ranks from the cluster: a launcher is one process in the plan, but starts
  // several ranks.
  if (own >= 0 && own < std::ssize(cluster.nodes)) {
    context.ranks = std::max(context.ranks, cluster.nodes[static_cast<std::size_t>(own)].slots);
  }
  for (int rank = 0; rank < std::ssize(cluster.nodes); ++rank) {
    const envgen::Node& node = cluster.nodes[static_cast<std::size_t>(rank)];
    if (rank == own || node.host.empty()) continue;
    const int told = node.port > 0 ? node.port : cluster.master_port;
    context.other_nodes.push_back({.host = node.host, .port = told > 0 ? told : kAnyPort});
  }
}

CheckResult make_result(CheckStatus verdict, std::string found, std::string_view fix,
                        std::string_view place) {
  return {{}, std::string(place), verdict, std::move(found), std::string(fix)};
}

}  // namespace

CheckResult ok(std::string found, std::string_view place) {
  return make_result(CheckStatus::kOk, std::move(found), {}, place);
}
CheckResult skipped(std::string why, std::string_view place) {
  return make_result(CheckStatus::kSkipped, std::move(why), {}, place);
}
CheckResult warning(std::string found, std::string_view fix, std::string_view place) {
  return make_result(CheckStatus::kWarning, std::move(found), fix, place);
}
CheckResult failed(std::string found, std::string_view fix, std::string_view place) {
  return make_result(CheckStatus::kFailed, std::move(found), fix, place);
}

Results check_plan(const Context& context) {
  if (!context.plan_fault.empty()) {
    return {failed(context.plan_fault, "mend that first: the job cannot be started")};
  }
  if (!context.pending.empty()) {
    return {warning(context.pending, "see why the platform has not completed it yet")};
  }
  if (context.ranks == 0) return {skipped("no plan was made for this check")};
  return {ok(count_text(static_cast<std::size_t>(context.ranks), "rank") + " here, " +
             count_text(context.other_nodes.size(), "other node"))};
}

Context context_of(const envgen::Plan& plan, const base::Environ& start) {
  Context context;
  context.env = context.start = start;
  for (const base::EnvEdit& edit : plan.env) context.env.apply(edit);
  context.datasets = plan.observe.datasets;
  for (const envgen::Dataset& one : plan.datasets) context.datasets.push_back(one.source);
  context.limits = plan.sandbox.limits;
  context.ranks = static_cast<int>(plan.processes.size());
  for (const envgen::Process& process : plan.processes) {
    if (process.device >= 0) context.devices.push_back(process.device);
    if (context.work_dir.empty()) context.work_dir = process.cwd;
    if (context.log_dir.empty()) context.log_dir = process.log.substr(0, process.log.rfind('/'));
  }
  if (plan.cluster) {
    context.rank_table = plan.cluster->rank_table.text();
    add_peers(plan, context);
  } else {
    add_told_peers(plan.hook_env, context);
  }
  return context;
}

std::span<const Check> all_checks() { return kChecks; }

base::Result<std::vector<std::string>> parse_check_names(std::string_view list) {
  std::vector<std::string> names = split_list(list);
  for (const std::string& name : names) {
    if (std::ranges::find(kChecks, name, &Check::name) != kChecks.end()) continue;
    std::string known;
    for (const Check& check : kChecks)
      known += (known.empty() ? "" : ", ") + std::string(check.name);
    return base::fail("reading the checks", "", base::quoted(name), "give some of " + known);
  }
  return names;
}

namespace {

// Returns how many checks can run at once. Each is a child that can run a tool, which can have
// children too.
std::size_t most_at_once(const Context& context) {
  constexpr std::uint64_t kTasksOfCheck = 4;
  const auto most = cgroup_limit(context, {"pids", "pids.max", "pids.max"});
  if (!most) return kChecks.size();
  const std::uint64_t left = *most > context.tasks ? *most - context.tasks : 0;
  return std::max<std::size_t>(left / kTasksOfCheck, 1);
}

}  // namespace

Results run_checks(const std::vector<std::string>& only, const Context& asked) {
  Context context = asked;
  context.tasks = cgroup_limit(context, {"pids", "pids.current", "pids.current"}).value_or(0);
  std::vector<Part> parts;
  parts.reserve(kChecks.size());
  for (const Check& check : kChecks) {
    const bool wanted = only.empty() || std::ranges::find(only, check.name) != only.end();
    if (!wanted) continue;
    parts.push_back({.check = std::string(check.name),
                     .run = [&context, run = check.run] { return run(context); }});
  }
  return run_all(parts, context.limit_ms, most_at_once(context));
}

}  // namespace doctor
