// DeepSpeed. One node runs `deepspeed`, which reads /job/hostfile and starts its own launcher on
// every node through ssh or pdsh. The other nodes run sshd. A Python command gets `deepspeed` in
// front. Options that the user gave are kept; --hostfile is added if the file had to move.
//
// DeepSpeed also calls a bare `ssh HOST` to check the first host and to ask for its address. Only
// its newest versions pass a port to that. A script named ssh, first in PATH, adds trainit's
// arguments. Source: deepspeed/launcher/runner.py and multinode_runner.py.

#include <algorithm>

#include "base/search_path.h"
#include "envgen/formats/hostfile.h"
#include "envgen/framework/framework.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kHostfile = "/job/hostfile";  // DeepSpeed's default path
constexpr const char* kHostfileDirectory = "/job";
constexpr int kDefaultPort = 29500;

// Adds the hostfile to the plan and returns its path. Every node gets the same bytes.
base::Result<std::string> add_hostfile(Inputs& inputs, const std::vector<HostfileEntry>& hosts,
                                       Plan& plan) {
  TRY_ASSIGN(auto text, render_hostfile(hosts, HostfileDialect::kDeepSpeed));
  PlannedFile file{kHostfile, 0644, std::move(text), ""};
  std::string directory = kHostfileDirectory;
  if (!can_be_made(inputs, directory)) {
    directory = join_path(inputs.facts().run_dir, "deepspeed");
    file.path = directory + "/hostfile";
    plan.warnings.push_back(std::string(kHostfile) + " cannot be written; the hostfile moves to " +
                            file.path);
  }
  plan.directories.push_back({directory});
  plan.files.push_back(file);
  return file.path;
}

// Returns the host of rank 0: the first host of the hostfile, whichever node runs the launcher.
std::string master_of(const Request& request, const ResolvedCluster& resolved,
                      const std::vector<HostfileEntry>& hosts) {
  if (!request.master_addr.empty()) return request.master_addr;
  const Cluster& cluster = resolved.cluster;
  const bool first_has_ranks = cluster.nodes[0].slots > 0;
  if (first_has_ranks && !cluster.master_addr.empty()) return cluster.master_addr;
  return hosts[0].host;
}

struct Master {
  std::string address;
  std::string port;
};

bool has_option(const std::vector<std::string>& command, std::string_view name) {
  return std::ranges::any_of(command, [name](std::string_view argument) {
    return argument.substr(0, argument.find('=')) == name;
  });
}

// Returns where DeepSpeed's own arguments begin: after the program, or after `python -m deepspeed`.
std::optional<std::size_t> own_arguments(const ParsedCommand& command) {
  if (!command.is_launcher() || command.framework() != "deepspeed") return std::nullopt;
  return command.launcher_arguments();
}

bool mentions_deepspeed(const std::vector<std::string>& command) {
  return std::ranges::any_of(command, [](const std::string& argument) {
    return argument.find("deepspeed") != std::string::npos;
  });
}

// Turns `python train.py` into `deepspeed ... train.py`. Python's own options cannot be passed.
std::vector<std::string> with_deepspeed(const std::vector<std::string>& command,
                                        const PythonCommand& python, const Master& master,
                                        Plan& plan) {
  std::vector<std::string> argv = {"deepspeed", "--master_addr=" + master.address,
                                   "--master_port=" + master.port};
  if (python.module) argv.emplace_back("--module");
  argv.insert(argv.end(), command.begin() + static_cast<std::ptrdiff_t>(python.operand),
              command.end());
  if (python.operand > (python.module ? 2U : 1U)) {
    plan.warnings.push_back(
        "deepspeed starts the script with its own python and without the "
        "options given to " +
        command[0]);
  }
  return argv;
}

std::vector<std::string> launch_command(const ParsedCommand& command, const std::string& hostfile,
                                        const Master& master, Plan& plan) {
  std::vector<std::string> argv = command;
  const auto& python = command.python();
  if (!own_arguments(command) && python && !python->text) {
    argv = with_deepspeed(command, *python, master, plan);
  }
  const bool moved = hostfile != kHostfile;
  auto at = own_arguments(argv);
  if (!at) {
    if (moved) {
      plan.warnings.push_back("deepspeed looks for " + std::string(kHostfile) +
                              " by itself: give it --hostfile " + hostfile);
    } else if (!mentions_deepspeed(argv)) {
      plan.warnings.push_back(
          "the command is no deepspeed and no Python script: it runs on this "
          "node alone unless it starts deepspeed");
    }
    return argv;
  }
  if (moved && !has_option(argv, "--hostfile") && !has_option(argv, "-H")) {
    argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(*at), {"--hostfile", hostfile});
  }
  return argv;
}

// Adds a script named ssh that passes trainit's arguments. ssh_setup() ensures that these hold no
// quotes or blanks.
void add_ssh_script(Inputs& inputs, const SshSetup& setup, Process& process, Plan& plan) {
  const base::Environ env = planned_environment(inputs, plan);
  const FoundProgram found = find_program(inputs, base::search_path_of(env), "ssh");
  const std::string ssh = found.known && !found.path.empty() ? found.path : "/usr/bin/ssh";
  const std::string directory = setup.directory + "/bin";
  plan.directories.push_back({directory});
  plan.files.push_back({directory + "/ssh", 0755,
                        "#!/bin/sh\nexec " + ssh + " " + setup.argument_line() + " \"$@\"\n", ""});
  process.env.push_back({Kind::kPrependPath, "PATH", directory});
}

void set_master(const Master& master, Plan& plan) {
  for (const auto& [name, value] :
       {std::pair{"MASTER_ADDR", &master.address}, std::pair{"MASTER_PORT", &master.port}}) {
    if (!is_promised(plan, name)) plan.env.push_back({Kind::kSet, name, *value});
  }
}

// Plans a job of one node: DeepSpeed starts its processes itself, without hostfile and ssh.
base::Status launch_alone(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  const Request& request = inputs.request();
  const int port = request.master_port.value_or(resolved.cluster.master_port);
  const Master master{"127.0.0.1", std::to_string(port > 0 ? port : kDefaultPort)};
  // Unsets rank variables: deepspeed.launcher.launch numbers its processes itself, and a script
  // that does not call deepspeed.init_distributed() would use other numbers in the environment.
  unset_stale_launch(inputs, plan);
  set_master(master, plan);
  std::vector<std::string> argv =
      launch_command(resolved.platform.command, kHostfile, master, plan);
  plan.processes.push_back(main_process(inputs, resolved.platform, std::move(argv), plan));
  return {};
}

base::Status launch_deepspeed(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  // A rank without DeepSpeed's launcher reads PyTorch's variables.
  if (resolved.platform.own_rank) return launcher_of("pytorch").launch(inputs, resolved, plan);
  if (resolved.cluster.nodes.size() < 2) return launch_alone(inputs, resolved, plan);
  TRY_ASSIGN(auto setup, ssh_setup(inputs));
  TRY_ASSIGN(auto hosts, hostfile_of(resolved.cluster));
  const int self = resolved.local_node.node_rank;
  const bool launches = self == launching_node(resolved.cluster);
  if (hosts.empty() && resolved.platform.hostfiles_given && !launches) {
    unset_stale_launch(inputs, plan);
    serve_as_worker(inputs, setup, plan);
    return {};
  }
  if (hosts.empty()) {
    return base::fail("planning a DeepSpeed job", "platform", "no node that runs ranks",
                      "say how many ranks a node runs with --slots");
  }
  TRY_ASSIGN(auto hostfile, add_hostfile(inputs, hosts, plan));

  const Request& request = inputs.request();
  const int port = request.master_port.value_or(resolved.cluster.master_port);
  const Master master{master_of(request, resolved, hosts),
                      std::to_string(port > 0 ? port : kDefaultPort)};
  unset_stale_launch(inputs, plan);
  // DeepSpeed may be configured to start its processes with mpirun, which must not use Slurm.
  keep_launchers_from_slurm(inputs, plan);
  set_master(master, plan);
  if (!launches) {
    serve_as_worker(inputs, setup, plan);
    return {};
  }
  plan.env.push_back({Kind::kSetDefault, "PDSH_RCMD_TYPE", "ssh"});
  std::string pdsh_arguments = setup.argument_line();
  const std::string_view own = inputs.variable("PDSH_SSH_ARGS_APPEND");
  if (!own.empty()) pdsh_arguments += " " + std::string(own);
  plan.env.push_back({Kind::kSet, "PDSH_SSH_ARGS_APPEND", std::move(pdsh_arguments)});

  TRY_ASSIGN(auto others, other_hosts(resolved.cluster, self));
  add_sshd_service(inputs, setup, plan);
  wait_for_and_end_workers(inputs, setup, others, plan);
  std::vector<std::string> argv = launch_command(resolved.platform.command, hostfile, master, plan);
  Process process = main_process(inputs, resolved.platform, std::move(argv), plan);
  add_ssh_script(inputs, setup, process, plan);
  plan.processes.push_back(std::move(process));
  return {};
}

}  // namespace

extern const FrameworkLauncher kDeepSpeedLauncher = {
    .name = "deepspeed",
    .launch = launch_deepspeed,
    .needs_ssh_peers = true,
    .passes_signals = false,  // DeepSpeed's ssh clients do not forward signals
    .bind_option = "deepspeed --bind_cores_to_rank"};

}  // namespace envgen
