// MPI and Horovod. One node launches: mpirun, or the user's own launcher, starts the ranks on all
// nodes through ssh. Every other node runs sshd. All settings except the number of ranks are in
// variables. OpenMPI 4 and 5, MPICH and Intel MPI each read their own, so one plan fits any of
// them. Horovod's flags, and a platform's, exist only in OpenMPI: other engines run without them.
// Sources: ompi_info --all, PRRTE's and Hydra's sources, Intel MPI's developer reference,
// Kubeflow's MPI operator, Horovod's runner/mpi_run.py.

#include <algorithm>
#include <set>

#include "base/search_path.h"
#include "base/text.h"
#include "envgen/formats/hostfile.h"
#include "envgen/formats/hosts.h"
#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/plan/launch.h"
#include "envgen/plan/user_launcher.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning an MPI job";
constexpr std::int64_t kMpirunEndMs = 1000;  // time in which mpirun and its daemons exit

struct Job {
  std::vector<HostfileEntry> hosts;  // empty: not known on this node
  int world_size = 0;
  bool alone = false;
};

// Returns the job; nullopt while the node's devices are not counted yet.
base::Result<std::optional<Job>> job_of(Inputs& inputs, const ResolvedCluster& resolved) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  Job job;
  job.alone = nodes.size() < 2;
  if (job.alone) {
    auto slots = slots_of_node(inputs, nodes.empty() ? 0 : nodes[0].slots);
    if (!slots) return std::nullopt;
    job.world_size = *slots;
    // A job of one node uses "localhost": with the node's real name, the launcher may not recognise
    // its own host and use ssh.
    job.hosts = {{"localhost", *slots}};
    return job;
  }
  for (const Node& node : nodes) job.world_size += node.slots;
  // If the launcher's node has the hostfile, a worker may know neither hosts nor ranks of the job.
  const bool launches = resolved.local_node.node_rank == launching_node(resolved.cluster);
  if (job.world_size == 0 && (launches || !resolved.platform.hostfiles_given)) {
    return base::fail(kPlanning, "platform", "no node that runs ranks",
                      "say how many ranks a node runs with --slots");
  }
  if (resolved.platform.hostfiles_given) return job;
  TRY_ASSIGN(job.hosts, hostfile_of(resolved.cluster));
  return job;
}

// The following functions handle host names with a domain.

bool has_domain(const Node& node) { return label_of(node.host) != node.host; }

// Returns true if a host other than the launcher's has a domain. OpenMPI removes domains. Version 4
// then reaches hosts by the rest, "pod-1" of "pod-1.svc", which no name server may know.
bool needs_domains(const Cluster& cluster) {
  const int launching = launching_node(cluster);
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    if (static_cast<int>(i) != launching && has_domain(cluster.nodes[i])) return true;
  }
  return false;
}

// Returns true if hosts share a short name. OpenMPI 5 reaches hosts by their full names, but treats
// hosts with the same short name as one.
bool has_like_names(const Cluster& cluster) {
  std::set<std::string_view> names;
  return !std::ranges::all_of(cluster.nodes, [&names](const Node& node) {
    return node.host.empty() || names.insert(label_of(node.host)).second;
  });
}

// Replaces this node's name in `hosts` by its own host name. An mpirun that keeps domains
// recognises its host only by that name if no interface has the address of "pod-0.svc".
void rename_own_host(const Inputs& inputs, const ResolvedCluster& resolved,
                     std::vector<HostfileEntry>& hosts) {
  const int self = resolved.local_node.node_rank;
  const std::string& own = inputs.facts().host_name;
  if (self != launching_node(resolved.cluster) || !needs_domains(resolved.cluster)) return;
  const std::string& told = resolved.cluster.nodes[static_cast<std::size_t>(self)].host;
  if (label_of(told) != label_of(own)) return;
  const auto entry = std::ranges::find(hosts, told, &HostfileEntry::host);
  if (entry != hosts.end()) entry->host = own;
}

struct HostfilePlace {
  std::string promised;  // path that the platform promised; "": none
  const char* own_name;  // file name below RUN_DIR/mpi
  HostfileDialect dialect;
  std::vector<const char*> variables;
};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Returns the hostfile's path: the promised one if it can be written, otherwise one below RUN_DIR.
base::Result<std::string> place_of(Inputs& inputs, const HostfilePlace& place, Plan& plan) {
  const bool promised = !place.promised.empty();
  if (promised && can_be_made(inputs, parent_of(place.promised))) return place.promised;
  if (inputs.facts().run_dir.empty()) {
    return base::fail("placing the hostfile", "TRAINIT_RUN_DIR", "no writable run directory",
                      "mount a tmpfs at /run, or set TRAINIT_RUN_DIR to a writable directory");
  }
  std::string own = join_path(join_path(inputs.facts().run_dir, "mpi"), place.own_name);
  if (promised) {
    plan.warnings.push_back(place.promised + " cannot be written; the hostfile moves to " + own +
                            ", and " + place.variables[0] + " names it");
  }
  return own;
}

// Adds one warning for all findings, because they are alike.
void warn_of_names(const std::vector<Finding>& findings, Plan& plan) {
  if (findings.empty()) return;
  std::string text = "the hostfile: " + findings[0].found;
  if (findings.size() > 1) text += ", and " + std::to_string(findings.size() - 1) + " more";
  plan.warnings.push_back(text + "; " + findings[0].fix);
}

base::Status add_hostfile(Inputs& inputs, const HostfilePlace& place,
                          const std::vector<HostfileEntry>& hosts, bool given, Plan& plan) {
  std::string path = place.promised;
  if (given && path.empty()) return {};
  if (!given) {
    auto text = render_hostfile(hosts, place.dialect);
    if (!text) {
      // Some clusters cannot be written in the dialect of every engine. The other engines still
      // work, so only OpenMPI's dialect is an error.
      if (place.dialect == HostfileDialect::kOpenMpi) return std::unexpected(text.error());
      plan.warnings.push_back("no hostfile for MPICH and Intel MPI: " + to_line(text.error()));
      return {};
    }
    warn_of_names(parse_hostfile(*text, place.dialect).findings, plan);
    TRY_ASSIGN(path, place_of(inputs, place, plan));
    const PlannedDirectory directory{parent_of(path)};
    if (std::ranges::find(plan.directories, directory) == plan.directories.end()) {
      plan.directories.push_back(directory);
    }
    plan.files.push_back({path, 0644, std::move(*text), ""});
  }
  for (const char* variable : place.variables) plan.env.push_back({Kind::kSet, variable, path});
  return {};
}

base::Status add_hostfiles(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                           Plan& plan) {
  const PlatformFacts& platform = resolved.platform;
  const bool given = platform.hostfiles_given;
  const HostfilePlace openmpi{platform.openmpi_hostfile,
                              "hostfile",
                              HostfileDialect::kOpenMpi,
                              {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}};
  const HostfilePlace mpich{platform.mpich_hostfile,
                            "mpich_hostfile",
                            HostfileDialect::kMpich,
                            {"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}};
  std::vector<HostfileEntry> hosts = job.hosts;
  rename_own_host(inputs, resolved, hosts);
  TRY(add_hostfile(inputs, openmpi, hosts, given, plan));
  return add_hostfile(inputs, mpich, job.hosts, given, plan);
}

// Sets the number of ranks per host for Intel MPI, whose hostfile gives only the hosts.
void add_ranks_per_host(const Cluster& cluster, const Job& job, Plan& plan) {
  int slots = job.alone ? job.world_size : 0;
  for (const Node& node : cluster.nodes) {
    if (node.slots == 0 || job.alone) continue;
    if (slots != 0 && slots != node.slots) return;
    slots = node.slots;
  }
  if (slots == 0) return;
  plan.env.push_back({Kind::kSetDefault, "I_MPI_PERHOST", std::to_string(slots)});
}

// Adds the ssh arguments for each engine. trainit's arguments come first, because ssh uses the
// first value of each option. So the port is that of trainit's sshd.
void add_ssh_arguments(const Inputs& inputs, const SshSetup& setup, Plan& plan) {
  for (const char* variable :
       {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args", "HYDRA_LAUNCHER_EXTRA_ARGS",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}) {
    std::string value = setup.argument_line();
    const std::string_view own = inputs.variable(variable);
    if (!own.empty()) value += " " + std::string(own);
    plan.env.push_back({Kind::kSet, variable, std::move(value)});
  }
  plan.env.push_back({Kind::kSetDefault, "I_MPI_HYDRA_BOOTSTRAP", "ssh"});
}

// Sets how long OpenMPI waits between TERM and KILL. OpenMPI waits once more after KILL, even if
// its ranks have ended (measured with 4.1). So twice this time must fit into the TERM phase of the
// launcher's node. The value is the same on every node: the workers' daemons read it in their
// sessions.
void add_kill_timeout(bool alone, Plan& plan) {
  const base::Budget stop = alone ? stop_budget(plan) : launching_stop_budget(plan);
  const std::int64_t term_ms = stop.term_phase_ms;
  const std::int64_t kill_seconds = std::max<std::int64_t>((term_ms - kMpirunEndMs) / 2000, 1);
  const std::int64_t needed_ms = 2000 * kill_seconds + kMpirunEndMs;
  if (term_ms < needed_ms) {
    plan.warnings.push_back(
        "mpirun needs " + base::seconds(needed_ms) +
        " between TERM and KILL to end its ranks in good order, and a grace of " +
        base::seconds(stop.exit_at) + " leaves it " + base::seconds(term_ms) +
        ": give a longer --grace");
  }
  for (const char* variable :
       {"OMPI_MCA_odls_base_sigkill_timeout", "PRTE_MCA_odls_base_sigkill_timeout"}) {
    plan.env.push_back({Kind::kSetDefault, variable, std::to_string(kill_seconds)});
  }
}

void add_openmpi_settings(const Inputs& inputs, const Cluster& cluster, Plan& plan) {
  if (inputs.facts().uid == 0) {
    for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                 "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
      plan.env.push_back({Kind::kSet, variable, "1"});
    }
  }
  if (needs_domains(cluster)) {
    plan.env.push_back({Kind::kSetDefault, "OMPI_MCA_orte_keep_fqdn_hostnames", "1"});
  }
  if (has_like_names(cluster)) {
    plan.env.push_back({Kind::kSetDefault, "PRTE_MCA_prte_keep_fqdn_hostnames", "1"});
  }
  // Ranks are not bound: one core is too few for the threads of a training process, and binding
  // fails if the container has only some of the host's cores. Horovod's flags do the same. The
  // variables are those of both versions.
  plan.env.push_back({Kind::kSetDefault, "OMPI_MCA_hwloc_base_binding_policy", "none"});
  plan.env.push_back({Kind::kSetDefault, "OMPI_MCA_rmaps_base_mapping_policy", "slot"});
  plan.env.push_back({Kind::kSetDefault, "PRTE_MCA_hwloc_default_binding_policy", "none"});
  plan.env.push_back({Kind::kSetDefault, "PRTE_MCA_rmaps_default_mapping_policy", "slot"});
}

bool launches_by_itself(const PlatformFacts& platform) {
  if (platform.command.launcher()) return true;
  return std::ranges::any_of(platform.command.words(), [&platform](const std::string& word) {
    const std::optional<Launcher> named = launcher_of_program(base_name(word));
    const bool mpi = named && (named->framework == "mpi" || named->framework == "horovod");
    // A platform with its own mpirun flags adds them only to a command line without "mpirun".
    const bool has_name = word.find("mpirun") != std::string::npos;
    return mpi || (has_name && !platform.mpirun_prefix.empty());
  });
}

struct MpiLauncher {
  std::string program = "mpirun";
  bool openmpi = true;  // it is OpenMPI's, or this is not known
};

// Returns the first of five names of MPI launchers that is found in PATH; "mpirun" if none is.
// OpenMPI's launcher has its daemon or ompi_info in the same directory. The launchers of Hydra and
// Intel MPI refuse OpenMPI's flags, so `openmpi` decides whether those flags are added.
MpiLauncher find_launcher(Inputs& inputs, const Plan& plan) {
  const base::Environ env = planned_environment(inputs, plan);
  FoundProgram found;
  MpiLauncher launcher;
  for (const char* name :
       {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"}) {
    found = find_program(inputs, base::search_path_of(env), name);
    if (!found.known) return {};
    launcher.program = name;
    if (!found.path.empty()) break;
  }
  if (found.path.empty()) return {};
  if (launcher.program == "mpirun.openmpi") return launcher;
  launcher.openmpi = false;
  if (launcher.program == "mpirun.mpich" || launcher.program == "mpiexec.hydra") return launcher;
  const std::string directory = parent_of(found.path);
  for (const char* marker : {"orted", "prted", "ompi_info", "mpirun.openmpi"}) {
    const PathState* state = inputs.kind(join_path(directory, marker));
    launcher.openmpi =
        launcher.openmpi || (state != nullptr && state->kind == PathState::Kind::kFile);
  }
  return launcher;
}

std::vector<std::string> launch_command(Inputs& inputs, const PlatformFacts& platform,
                                        const Job& job, bool horovod, const Plan& plan) {
  if (launches_by_itself(platform)) return platform.command.words();
  const MpiLauncher launcher = find_launcher(inputs, plan);
  std::vector<std::string> flags;
  if (launcher.openmpi) flags = platform.mpirun_prefix;
  if (launcher.openmpi && horovod && flags.empty()) flags = openmpi_training_flags();
  std::vector<std::string> argv = {launcher.program};
  // The platforms write "mpirun --allow-run-as-root -np N ...".
  if (std::erase(flags, "--allow-run-as-root") > 0) argv.emplace_back("--allow-run-as-root");
  argv.insert(argv.end(), {"-np", std::to_string(job.world_size)});
  std::ranges::move(flags, std::back_inserter(argv));
  const std::vector<std::string>& command = platform.command.words();
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

bool has_pmi(const Inputs& inputs) {
  constexpr std::array<const char*, 4> kRanks = {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                                 "PMIX_RANK"};
  return std::ranges::any_of(kRanks,
                             [&](const char* name) { return !inputs.variable(name).empty(); });
}

base::Status launch(Inputs& inputs, const ResolvedCluster& resolved, bool horovod, Plan& plan) {
  // The platform has started its own tasks as the ranks, and its PMI gives each of them its rank.
  if (resolved.platform.own_rank) {
    if (!has_pmi(inputs)) {
      return base::fail(
          "planning an MPI job", "the platform's tasks",
          "nothing by which MPI processes find each other (PMI)",
          "start one container a node: with --rank-means node mpirun starts the ranks");
    }
    return launcher_of("single").launch(inputs, resolved, plan);
  }
  TRY_ASSIGN(auto job, job_of(inputs, resolved));
  if (!job) return {};
  if (resolved.cluster.nodes.empty()) plan.world_size = job->world_size;
  TRY(add_hostfiles(inputs, resolved, *job, plan));
  add_ranks_per_host(resolved.cluster, *job, plan);
  add_openmpi_settings(inputs, resolved.cluster, plan);
  add_kill_timeout(job->alone, plan);
  unset_stale_launch(inputs, plan);
  keep_launchers_from_slurm(inputs, plan);
  const int self = resolved.local_node.node_rank;
  if (!job->alone) {
    TRY_ASSIGN(auto setup, ssh_setup(inputs));
    add_ssh_arguments(inputs, setup, plan);
    if (self != launching_node(resolved.cluster)) {
      serve_as_worker(inputs, setup, plan);
      return {};
    }
    TRY_ASSIGN(auto hosts, other_hosts(resolved.cluster, self));
    add_sshd_service(inputs, setup, plan);
    wait_for_and_end_workers(inputs, setup, hosts, plan);
  }
  std::vector<std::string> argv = launch_command(inputs, resolved.platform, *job, horovod, plan);
  plan.processes.push_back(main_process(inputs, resolved.platform, std::move(argv), plan));
  return {};
}

// Plans the job for both launchers, which start mpirun. horovod adds the flags of Horovod's own
// launcher.
base::Status launch_mpi(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  return launch(inputs, resolved, false, plan);
}

base::Status launch_horovod(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  return launch(inputs, resolved, true, plan);
}

constexpr std::string_view kBindOption = "mpirun --bind-to";

}  // namespace

extern const FrameworkLauncher kMpiLauncher = {
    .name = "mpi", .launch = launch_mpi, .needs_ssh_peers = true, .bind_option = kBindOption};

extern const FrameworkLauncher kHorovodLauncher = {.name = "horovod",
                                                   .launch = launch_horovod,
                                                   .needs_ssh_peers = true,
                                                   .bind_option = kBindOption};

}  // namespace envgen
