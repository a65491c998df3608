#include "envgen/framework/ssh.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

constexpr const char* kPlanning = "planning the sshd between the nodes";
constexpr const char* kEndPeers = "end-peers";
// Part of the grace period in which the workers get the job's exit code. Without it they would only
// end when they are stopped themselves.
constexpr std::int64_t kEndWorkersMs = 2000;
constexpr int kRootPort = 22;
constexpr int kUserPort = 2222;

std::vector<std::string> peer_command(const Inputs& inputs, const SshSetup& setup,
                                      const char* verb) {
  return {inputs.facts().program, "peer", verb, "--dir", setup.directory};
}

void append_access(const SshSetup& setup, std::vector<std::string>& argv) {
  argv.insert(argv.end(), {"--port", std::to_string(setup.port)});
  if (!setup.key.empty()) argv.insert(argv.end(), {"--key", setup.key});
}

Process serve(const Inputs& inputs, const SshSetup& setup, const char* name) {
  Process process;
  process.name = name;
  process.argv = peer_command(inputs, setup, "serve");
  append_access(setup, process.argv);
  process.cwd = inputs.facts().cwd;
  return process;
}

void keep_to_end_workers(base::Policy& policy) { policy.post_stop_ms += kEndWorkersMs; }

void add_directory(const SshSetup& setup, Plan& plan) {
  const PlannedDirectory directory{setup.directory};
  if (std::ranges::find(plan.directories, directory) == plan.directories.end()) {
    plan.directories.push_back(directory);
  }
}

// Returns the path of the key's copy with mode 0600, because the client refuses a mounted secret
// that others can read.
std::string key_copy(const SshSetup& setup) { return setup.directory + "/key"; }

std::vector<std::string> client_arguments(const SshSetup& setup) {
  std::vector<std::string> arguments = {"-p", std::to_string(setup.port)};
  if (!setup.key.empty()) {
    arguments.insert(arguments.end(), {"-i", key_copy(setup), "-o", "IdentitiesOnly=yes"});
  }
  // Options for a client that asks nothing. Host keys are new at each start, so they are not
  // checked.
  for (const char* option :
       {"BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
        "LogLevel=ERROR", "ConnectTimeout=10"}) {
    arguments.insert(arguments.end(), {"-o", option});
  }
  return arguments;
}

}  // namespace

std::string SshSetup::argument_line() const {
  std::string line;
  for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
  return line;
}

base::Result<SshSetup> ssh_setup(const Inputs& inputs) {
  const Request& request = inputs.request();
  const Facts& facts = inputs.facts();
  if (!request.sandbox.user.empty() && !request.sandbox.settings.given_up) {
    // Fails with --user, because the sshd of this node, and what it starts on other nodes, would
    // run as another user.
    return base::fail(kPlanning, "--user", base::quoted(request.sandbox.user),
                      "jobs over ssh run as one user on all nodes: set USER in the image instead");
  }
  if (facts.run_dir.empty()) {
    return base::fail(kPlanning, "TRAINIT_RUN_DIR", "no writable run directory",
                      "mount a tmpfs at /run, or set TRAINIT_RUN_DIR to a writable directory");
  }
  if (facts.program.empty()) {
    return base::fail(kPlanning, "/proc/self/exe", "no path of this program", "mount /proc");
  }
  SshSetup setup;
  setup.port = request.ssh_port.value_or(facts.uid == 0 ? kRootPort : kUserPort);
  setup.directory = join_path(facts.run_dir, "ssh");
  if (!request.ssh_key.empty()) setup.key = join_path(facts.cwd, request.ssh_key);
  for (const std::string& path : {setup.directory, setup.key}) {
    // Such a path would break, because launchers split their variables at blanks and do not
    // understand quotes.
    if (path.find_first_of(" \t\n\"'\\") == std::string::npos) continue;
    return base::fail(kPlanning, path, "a blank, quote or backslash in the path",
                      "MPI launchers cannot pass it to ssh: name another with --ssh-key or "
                      "TRAINIT_RUN_DIR");
  }
  setup.arguments = client_arguments(setup);
  return setup;
}

int launching_node(const Cluster& cluster) {
  auto launcher = std::ranges::find(cluster.nodes, "launcher", &Node::role);
  return launcher == cluster.nodes.end() ? 0 : static_cast<int>(launcher - cluster.nodes.begin());
}

base::Result<std::vector<std::string>> other_hosts(const Cluster& cluster, int self) {
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    if (static_cast<int>(i) == self) continue;
    const std::string& host = cluster.nodes[i].host;
    if (host.empty()) {
      return base::fail(kPlanning, "node " + std::to_string(i),
                        "no host name: the platform did not tell it",
                        "name all nodes, in node-rank order, with --hosts a:8,b:8");
    }
    // A host with "-" at the beginning would be an option of ssh.
    if (host.starts_with('-')) {
      return base::fail(kPlanning, "node " + std::to_string(i), base::quoted(host) + " as its host",
                        "give it a host name");
    }
    hosts.push_back(host);
  }
  return hosts;
}

void add_sshd_service(const Inputs& inputs, const SshSetup& setup, Plan& plan, const char* name) {
  add_directory(setup, plan);
  plan.services.push_back(serve(inputs, setup, name));
}

void serve_as_worker(const Inputs& inputs, const SshSetup& setup, Plan& plan) {
  add_directory(setup, plan);
  Process process = serve(inputs, setup, "main");
  process.argv.insert(process.argv.end(), {"--launcher-timeout-ms",
                                           std::to_string(inputs.request().launcher_timeout_ms)});
  plan.processes.push_back(std::move(process));
}

bool is_worker(const Plan& plan) {
  if (plan.processes.size() != 1) return false;
  const std::vector<std::string>& argv = plan.processes[0].argv;
  return argv.size() > 4 && argv[1] == "peer" && argv[2] == "serve" && argv[3] == "--dir";
}

void wait_for_and_end_workers(const Inputs& inputs, const SshSetup& setup,
                              const std::vector<std::string>& hosts, Plan& plan) {
  if (hosts.empty()) return;
  add_directory(setup, plan);
  if (!setup.key.empty()) plan.files.push_back({key_copy(setup), 0600, "", setup.key});
  PlannedFile file{setup.directory + "/peers", 0644, "", ""};
  std::string peers;
  for (const std::string& host : hosts) peers += host + "\n";
  file.content = std::move(peers);

  PeerWait wait;
  wait.hosts = hosts;
  wait.probe = {"ssh"};
  wait.probe.insert(wait.probe.end(), setup.arguments.begin(), setup.arguments.end());
  wait.timeout_ms = inputs.request().peer_timeout_ms;
  plan.peers = std::move(wait);

  Process end;
  end.name = kEndPeers;
  end.argv = peer_command(inputs, setup, "end");
  end.argv.insert(end.argv.end(), {"--hosts-file", file.path});
  append_access(setup, end.argv);
  end.cwd = inputs.facts().cwd;
  plan.files.push_back(std::move(file));
  plan.post_stop.push_back(std::move(end));
  keep_to_end_workers(plan.policy);
}

base::Budget launching_stop_budget(const Plan& plan) {
  base::Policy policy = plan.policy;
  keep_to_end_workers(policy);
  const bool pre_stop = has_hooks(plan, HookEvent::kPreStop);
  return base::make_budget(policy, {.pre_stop = pre_stop, .post_stop = true}, 0);
}

void tell_workers_by_link(const Inputs& inputs, const Cluster& cluster, Plan& plan) {
  if (!plan.link || launching_node(cluster) != 0) return;
  if (is_worker(plan)) {
    const std::vector<std::string>& serve = plan.processes[0].argv;
    plan.link->tell_sshd = {serve[0], "peer", "session", "--dir", serve[4]};
  }
  const auto end = std::ranges::find(plan.post_stop, kEndPeers, &Process::name);
  if (end == plan.post_stop.end()) return;
  end->argv.insert(end->argv.end(), {"--link", join_path(inputs.facts().run_dir, "link")});
}

std::span<const std::string_view> stale_launch_variables() {
  static constexpr std::array<std::string_view, 34> kNames = {
      // Variables of OpenMPI.
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK", "OMPI_UNIVERSE_SIZE",
      "OMPI_MCA_ess_base_jobid", "OMPI_MCA_ess_base_vpid",
      // Variables of Hydra, Intel MPI and MVAPICH.
      "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_ID", "PMI_PORT", "PMIX_RANK", "PMIX_NAMESPACE",
      "PMIX_SERVER_URI2", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "MPI_LOCALRANKID",
      "MPI_LOCALNRANKS", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
      // Variables of Slurm's step and task. Those of the job stay, because scripts use them in
      // output names.
      "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES",
      "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NPROCS",
      "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS"};
  return kNames;
}

void unset_stale_launch(const Inputs& inputs, Plan& plan) {
  for (auto names : {rank_variables(), stale_launch_variables()}) {
    for (base::EnvEdit& edit : unset_stale(inputs, plan, names))
      plan.env.push_back(std::move(edit));
  }
}

void keep_launchers_from_slurm(const Inputs& inputs, Plan& plan) {
  const bool allocated = std::ranges::any_of(
      std::array<std::string_view, 4>{"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST",
                                      "SLURM_NODELIST"},
      [&inputs](std::string_view name) { return !inputs.variable(name).empty(); });
  if (!allocated) return;
  // "^slurm" excludes only Slurm. Naming the alternative is not possible, because "rsh" of OpenMPI
  // 4 is called "ssh" in OpenMPI 5.
  for (const auto& [name, value] :
       {std::pair{"OMPI_MCA_plm", "^slurm"}, std::pair{"OMPI_MCA_ras", "^slurm"},
        std::pair{"PRTE_MCA_plm", "^slurm"}, std::pair{"PRTE_MCA_ras", "^slurm"},
        std::pair{"HYDRA_LAUNCHER", "ssh"}, std::pair{"HYDRA_RMK", "user"},
        std::pair{"I_MPI_HYDRA_BOOTSTRAP", "ssh"},
        std::pair{"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "0"}}) {
    plan.env.push_back({base::EnvEdit::Kind::kSetDefault, name, value});
  }
}

}  // namespace envgen
