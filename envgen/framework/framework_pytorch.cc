// PyTorch. For a Python command trainit starts a process per rank, as torchrun would. Without an
// agent, trainit sees which rank fails, and signals reach the ranks directly. Features that need an
// agent use torchrun: a range of nodes, and what PET_* variables request. An image without torchrun
// has an old PyTorch, whose scripts expect torch.distributed.launch. A platform may also prescribe
// that launcher. A launcher in the user's command stays unchanged and gets the environment.
//
// torchrun is the program beside the command's own python, otherwise that in PATH. The variable
// PYTHON_EXEC makes the workers of the one in PATH use the command's python. Without a python in
// the snapshot (the plan is for another image) torchrun is assumed. Python options that torchrun
// cannot pass on, and -c texts, reach the workers unchanged: --no_python.
//
// The rendezvous of several nodes is static, at the master's address. A range of nodes uses c10d.
// If PET_RDZV_* are set, they give the rendezvous: its endpoint is not a master, and may not be a
// node of the job. One node takes a free port with c10d's localhost:0, so that jobs on one host do
// not collide (--standalone means port 29400 before 2.1). With a given port, or in a container
// without a network, one node uses the static rendezvous. Ranks that trainit starts use a store
// that rank 0 opens at MASTER_PORT. On one node a free port is chosen at each start, unless a port
// was given.

#include <algorithm>
#include <array>
#include <utility>

#include "base/search_path.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/framework/framework.h"
#include "envgen/framework/node_job.h"
#include "envgen/framework/torch_version.h"
#include "envgen/plan/command.h"
#include "envgen/plan/devices.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

using Kind = base::EnvEdit::Kind;

constexpr const char* kPlanning = "planning a PyTorch job";
constexpr int kDefaultPort = 29500;
constexpr const char* kErrorsDirectory = "errors";  // below RUN_DIR: the ranks' error files

using Job = NodeJob;

std::string rendezvous_id(const ResolvedCluster& resolved) {
  return resolved.platform.job_id.empty() ? "trainit" : resolved.platform.job_id;
}

// Returns the endpoint that the platform or the user gave for the rendezvous of torchrun's agents.
// "" means the master.
std::string_view given_endpoint(const Inputs& inputs) {
  return inputs.variable("PET_RDZV_ENDPOINT");
}

// Makes the job elastic if a rendezvous is given that only an agent can use, even with a fixed
// number of nodes.
void take_rendezvous(const Inputs& inputs, Job& job) {
  const std::string_view backend = inputs.variable("PET_RDZV_BACKEND");
  if (given_endpoint(inputs).empty() || backend.empty() || backend == "static") return;
  if (job.min_nodes == 0 && !job.is_task) job.min_nodes = job.node_count;
}

std::string node_range(const Job& job) {
  const std::string most = std::to_string(job.node_count);
  const bool range = job.elastic() && job.min_nodes != job.node_count;
  return range ? std::to_string(job.min_nodes) + ":" + most : most;
}

bool contains_text(const std::vector<std::string>& command, std::string_view text) {
  return std::ranges::any_of(
      command, [text](const std::string& word) { return word.find(text) != std::string::npos; });
}

// Returns true for a launcher in the user's command, or for a program that is not changed because
// it may start one.
bool is_users_own(const ParsedCommand& command, const ResolvedCluster& resolved,
                  const Request& request) {
  if (command.launcher() || !command.python()) return true;
  if (!resolved.platform.prefix_bare_python_only || request.torch_launcher) return false;
  const bool bare = command[0] == "python" || command[0] == "python3";
  return !bare || contains_text(command, "torch.distributed.launch");
}

std::vector<base::EnvEdit> unset_present(const base::Environ& env,
                                         std::span<const std::string_view> names) {
  std::vector<base::EnvEdit> edits;
  for (const std::string_view name : names) {
    if (env.get(name)) edits.push_back({Kind::kUnset, std::string(name), ""});
  }
  return edits;
}

void append(std::vector<base::EnvEdit>& to, std::vector<base::EnvEdit> edits) {
  std::ranges::move(edits, std::back_inserter(to));
}

// Unsets RANK_TABLE_FILE. torch_npu would read ranks from a table that may not be one (ModelArts
// sets a directory). Without a table the ranks use the master.
void hide_rank_table(const Inputs& inputs, const ResolvedCluster& resolved,
                     std::vector<base::EnvEdit>& edits) {
  static constexpr std::array<std::string_view, 1> kNames = {"RANK_TABLE_FILE"};
  if (!resolved.cluster.rank_table.empty()) append(edits, unset_present(inputs.env(), kNames));
}

// Returns true for "MIN:MAX" with MIN below MAX.
bool is_range(std::string_view nodes) {
  const std::size_t colon = nodes.find(':');
  if (colon == std::string_view::npos) return false;
  const auto least = base::parse_number<int>(nodes.substr(0, colon));
  const auto most = base::parse_number<int>(nodes.substr(colon + 1));
  return least && most && *least < *most;
}

// Returns how variables about nodes are set. With several nodes, existing values are overwritten:
// those of the image belong to another job, and each node would start a job of its own.
Kind kind_for(const Job& job) { return job.alone() ? Kind::kSetDefault : Kind::kSet; }

// Fails if the endpoint is at localhost, where each node would find only itself. Node 0 may have
// such an endpoint with a fixed port, because the others reach it by its name.
base::Status check_endpoint(const Inputs& inputs, const ResolvedCluster& resolved, const Job& job) {
  const ParsedCommand& command = resolved.platform.command;
  const std::string& launcher = command.launcher_name();
  const auto nodes = find_flag(command, launcher, "--nnodes");
  if (job.alone() || find_flag(command, launcher, "--standalone")) return {};
  if (nodes && (nodes->text == "1" || nodes->text == "1:1")) return {};
  const auto flag = find_flag(command, launcher, "--rdzv_endpoint");
  const std::string_view endpoint = flag ? flag->text : given_endpoint(inputs);
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  const bool first = job.node_rank == 0 && !resolved.local_node.unnumbered;
  if (host.empty() || !is_loopback(host) || (first && !endpoint.ends_with(":0"))) return {};
  return base::fail(
      kPlanning, flag ? "--rdzv_endpoint" : "PET_RDZV_ENDPOINT",
      base::quoted(endpoint) + " for " + std::to_string(job.node_count) + " nodes",
      "set it to the first node's host and a port, or the number of nodes to 1 where this "
      "node is the whole job");
}

// Returns the variable with the number of this node's ranks for a launcher in the user's command.
base::EnvEdit agent_ranks(const Job& job) {
  return {Kind::kSetDefault, "PET_NPROC_PER_NODE", std::to_string(job.slots)};
}

// Returns the variables that a launcher in the user's command reads. Flags in the command take
// precedence over PET_*.
std::vector<base::EnvEdit> agent_variables(const Inputs& inputs, const Job& job,
                                           const ResolvedCluster& resolved) {
  const Kind kind = kind_for(job);
  const bool asks_for_range = is_range(inputs.variable("PET_NNODES"));
  std::vector<base::EnvEdit> edits = {
      {asks_for_range ? Kind::kSetDefault : kind, "PET_NNODES", node_range(job)},
      agent_ranks(job),
  };
  if (job.elastic()) {
    edits.push_back({Kind::kSetDefault, "PET_RDZV_BACKEND", "c10d"});
    edits.push_back({Kind::kSetDefault, "PET_RDZV_ID", rendezvous_id(resolved)});
    if (job.address.empty()) return edits;
    edits.push_back({Kind::kSetDefault, "PET_RDZV_ENDPOINT", endpoint_of(job)});
    return edits;
  }
  edits.push_back({kind, "PET_NODE_RANK", std::to_string(job.node_rank)});
  if (job.address.empty()) return edits;
  // A name that is not loopback stays, because the user may have set one in node 0's faster
  // network.
  const Kind of_master = is_loopback(inputs.variable("PET_MASTER_ADDR")) ? kind : Kind::kSetDefault;
  edits.push_back({of_master, "PET_MASTER_ADDR", flag_address(job.address)});
  edits.push_back({of_master, "PET_MASTER_PORT", std::to_string(job.port)});
  return edits;
}

// Returns the variables of programs that use them to start torchrun. On a node with one device,
// LLaMA-Factory starts torchrun only with FORCE_TORCHRUN.
std::vector<base::EnvEdit> node_variables(const Inputs& inputs, const Job& job, bool unnumbered) {
  const Kind kind = kind_for(job);
  return {{is_range(inputs.variable("NNODES")) ? Kind::kSetDefault : kind, "NNODES",
           std::to_string(job.node_count)},
          {unnumbered ? Kind::kSetDefault : kind, "NODE_RANK", std::to_string(job.node_rank)},
          {Kind::kSetDefault, "NPROC_PER_NODE", std::to_string(job.slots)},
          {Kind::kSetDefault, "FORCE_TORCHRUN", "1"}};
}

// Returns true if the launcher, in the command or started by the program, continues without a node.
// The launcher's flag, which may be in a shell's text, decides, otherwise PET_NNODES.
bool typed_a_range(const Inputs& inputs, const ParsedCommand& command) {
  const std::string& launcher = command.launcher_name();
  if (const auto flag = find_flag(command, launcher, "--nnodes")) return is_range(flag->text);
  return !find_flag(command, launcher, "--standalone") && is_range(inputs.variable("PET_NNODES"));
}

// Replaces a loopback --master_addr on node 0, and fails on other nodes. Since PyTorch 1.9 the
// first node's agent publishes its --master_addr to the workers of all nodes. The "localhost" that
// a platform writes for older versions would send them to themselves.
base::Status name_typed_master(const Request& request, const Job& job, const std::string& launcher,
                               std::vector<std::string>& command, Plan& plan) {
  const auto nodes = find_flag(command, launcher, "--nnodes");
  const auto master = find_flag(command, launcher, "--master_addr");
  if (!master || !is_loopback(master->text) || job.alone()) return {};
  if (!request.master_addr.empty() || (nodes && (nodes->text == "1" || nodes->text == "1:1"))) {
    return {};
  }
  const std::string found = "--master_addr " + std::string(master->text);
  if (job.node_rank != 0) {
    return base::fail(kPlanning, "the command",
                      found + " on node " + std::to_string(job.node_rank) + " of " +
                          std::to_string(job.node_count),
                      "that is this node itself: set it to the first node's host");
  }
  plan.warnings.push_back(found + " is changed to " + job.address +
                          ": the launcher publishes it to the workers of all nodes");
  command[master->word].replace(master->at, master->text.size(), flag_address(job.address));
  return {};
}

// Makes an agent keep its ranks' error files where trainit finds them, without a visible effect.
// The options --tee and --redirects are not set. They would put "[default0]:" before each line on
// the console, and turn each state of a progress bar into a line. A user who sets these options
// also chooses where the logs go, as they may be large.
void keep_error_files(const Inputs& inputs, Process& process, Plan& plan) {
  const std::string& run_dir = inputs.facts().run_dir;
  if (process.rank_logs != RankLogs::kNone || run_dir.empty()) return;
  const base::Environ env = planned_environment(inputs, plan);
  for (const char* name : {"PET_LOG_DIR", "PET_TEE", "PET_REDIRECTS"}) {
    if (!env.get_or(name, "").empty()) return;
  }
  const ParsedCommand command(process.argv);
  constexpr std::string_view kFlags = "--log_dir --tee --redirects -t -r";
  if (find_flag(command, command.launcher_name(), kFlags)) return;
  process.rank_logs = RankLogs::kTorchrun;
  process.rank_dir = join_path(run_dir, "torchrun");
  plan.directories.push_back({.path = process.rank_dir, .clean = true, .of_job = true});
  process.env.push_back({Kind::kSet, "PET_LOG_DIR", process.rank_dir});
}

base::Status launch_users_own(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                              Plan& plan) {
  const ParsedCommand& command = resolved.platform.command;
  const std::optional<Launcher>& typed = command.launcher();
  const bool torch_agent = (typed && typed->reads == LauncherReads::kPet) ||
                           contains_text(command, "torchrun") ||
                           contains_text(command, "torch.distributed.");
  std::vector<std::string> argv = command;
  if (torch_agent) {
    TRY(check_endpoint(inputs, resolved, job));
    TRY(name_typed_master(inputs.request(), job, command.launcher_name(), argv, plan));
  }
  Process process = main_process(inputs, resolved.platform, std::move(argv), plan);
  // RANK and WORLD_SIZE stay for a script, which may use them for its own torchrun. An agent does
  // not use them.
  if (command.is_launcher()) {
    append(process.env, unset_stale(inputs, plan, rank_variables()));
  }
  // An endpoint that is given is no master: another program listens at its port.
  const bool has_master = !job.elastic() || given_endpoint(inputs).empty();
  const Kind kind = kind_for(job);
  // A launcher that is alone and got only --slots finds a free port. A fixed one could collide.
  const Request& request = inputs.request();
  const bool free =
      job.alone() && request.framework.empty() && !job.port_given && request.master_addr.empty();
  const bool gives_master = has_master && !free && !job.address.empty();
  if (gives_master && !is_promised(plan, "MASTER_ADDR")) {
    process.env.push_back({kind, "MASTER_ADDR", job.address});
  }
  if (gives_master && !is_promised(plan, "MASTER_PORT")) {
    process.env.push_back({kind, "MASTER_PORT", std::to_string(job.port)});
  }
  if (torch_agent && !contains_text(command, "torch.distributed.launch")) {
    warn_of_torch_agent(inputs.request(), plan);
  }
  // A shell may start a launcher that is not visible here. A command after a wrapper is visible.
  const bool hidden_python = !typed && command.wraps_python();
  if (hidden_python && (!job.alone() || job.slots > 1)) {
    plan.warnings.push_back(command[0] + " is started once on this node, which has to run " +
                            std::to_string(job.slots) + " of " + std::to_string(job.world_size) +
                            " ranks: name python first, or start the ranks with --fan-out");
  }
  const bool slots_given = inputs.request().slots.has_value();
  // Sets no PET_NNODES for --standalone, because torchrun would then wait for nodes that cannot
  // come.
  if (torch_agent && !find_flag(command, command.launcher_name(), "--standalone")) {
    append(process.env, agent_variables(inputs, job, resolved));
  } else if (torch_agent && slots_given) {
    process.env.push_back(agent_ranks(job));
  }
  const bool counted = !job.alone() || slots_given;
  if (typed && typed->reads == LauncherReads::kNodeVariables && counted) {
    append(process.env, node_variables(inputs, job, resolved.local_node.unnumbered));
  }
  if (torch_agent) keep_error_files(inputs, process, plan);
  hide_rank_table(inputs, resolved, process.env);
  const bool waits = job.elastic() && job.min_nodes == job.node_count;  // a lost node may return
  plan.elastic_launcher = waits || (!job.alone() && typed_a_range(inputs, command));
  plan.processes.push_back(std::move(process));
  return {};
}

std::vector<base::EnvEdit> worker_environment(const Inputs& inputs, const ResolvedCluster& resolved,
                                              Plan& plan, TorchRank rank) {
  static constexpr std::array<std::string_view, 2> kAgents = {"TORCHELASTIC_SIGNALS_TO_HANDLE",
                                                              "TORCHELASTIC_ERROR_FILE"};
  rank.run_id = rendezvous_id(resolved);
  rank.max_restarts = plan.policy.max_restarts;
  std::vector<base::EnvEdit> edits = unset_present(planned_environment(inputs, plan), kAgents);
  if (const std::string& run_dir = inputs.facts().run_dir; !run_dir.empty()) {
    const PlannedDirectory errors{
        .path = join_path(run_dir, kErrorsDirectory), .clean = true, .of_job = true};
    if (std::ranges::find(plan.directories, errors) == plan.directories.end()) {
      plan.directories.push_back(errors);
    }
    rank.error_file = join_path(errors.path, "rank-" + std::to_string(rank.rank) + ".json");
  }
  append(edits, torch_rank_environment(rank));
  hide_rank_table(inputs, resolved, edits);
  return edits;
}

bool has_old_torch(Inputs& inputs, const ResolvedCluster& resolved, const Plan& plan) {
  const ParsedCommand& command = resolved.platform.command;
  return command.python() && has_torch_before_2_2(inputs, plan, command[0]);
}

// Plans the process of a container that the platform started as one rank.
base::Status launch_own_rank(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                             Plan& plan) {
  TRY(needs_master(job, kPlanning));
  const int rank = *resolved.platform.own_rank;
  if (resolved.platform.command.launcher()) {
    plan.warnings.push_back("the platform starts one task per rank, and each starts " +
                            resolved.platform.command[0] +
                            ": use one task per node, or no launcher");
  }
  Process process = main_process(inputs, resolved.platform, resolved.platform.command, plan);
  process.env = worker_environment(inputs, resolved, plan,
                                   {.rank = rank,
                                    .world_size = job.world_size,
                                    .local_rank = resolved.platform.local_rank,
                                    .local_world_size = job.slots,
                                    .node_rank = job.node_rank,
                                    .node_count = job.node_count,
                                    .master_addr = job.address,
                                    .master_port = job.port,
                                    .before_2_2 = has_old_torch(inputs, resolved, plan)});
  plan.processes.push_back(std::move(process));
  return {};
}

base::Status launch_fan_out(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                            Plan& plan) {
  const ParsedCommand& typed = resolved.platform.command;
  if (typed.launcher()) {
    return base::fail(kPlanning, "--fan-out",
                      typed.launcher_name() + ", which starts the ranks by itself",
                      "name the training script alone, or leave out --fan-out");
  }
  TRY(needs_master(job, kPlanning));
  if (job.elastic()) {
    plan.warnings.push_back("--fan-out has no agent: the job needs all of its " +
                            std::to_string(job.node_count) + " nodes");
  }
  // With Python's -u, lines reach the log when they are printed, as with torchrun.
  std::vector<std::string> command = typed;
  if (typed.python() && !typed.python()->letters.contains('u')) {
    command.insert(command.begin() + 1, "-u");
  }
  plan.free_master_port = job.alone() && !job.port_given && inputs.request().master_addr.empty();
  plan.directories.push_back({resolved.platform.log_dir});
  const bool old_torch = has_old_torch(inputs, resolved, plan);
  for (int local_rank = 0; local_rank < job.slots; ++local_rank) {
    Process process =
        rank_process(inputs, resolved.platform, command, job.first_rank + local_rank, plan);
    process.env = worker_environment(inputs, resolved, plan,
                                     {.rank = process.rank,
                                      .world_size = job.world_size,
                                      .local_rank = local_rank,
                                      .local_world_size = job.slots,
                                      .node_rank = job.node_rank,
                                      .node_count = job.node_count,
                                      .master_addr = job.address,
                                      .master_port = job.port,
                                      .before_2_2 = old_torch});
    plan.processes.push_back(std::move(process));
  }
  return {};
}

struct Torchrun {
  bool known = true;        // false while the snapshot lacks a path
  std::string program;      // "": the image has no torchrun
  std::string python_exec;  // value of PYTHON_EXEC for its workers; "": not needed
  bool seen = false;        // true = found in the snapshot; false = assumed
};

Torchrun find_torchrun(Inputs& inputs, const Plan& plan, const std::string& python) {
  const base::Environ env = planned_environment(inputs, plan);
  const FoundProgram in_path = find_program(inputs, base::search_path_of(env), "torchrun");
  const FoundProgram interpreter = find_program(inputs, base::search_path_of(env), python);
  if (!in_path.known || !interpreter.known)
    return {.known = false, .program = "", .python_exec = ""};
  const bool seen = !in_path.path.empty();
  if (interpreter.path.empty()) return {.program = "torchrun", .python_exec = "", .seen = seen};
  const std::string directory = interpreter.path.substr(0, interpreter.path.rfind('/'));
  const std::string beside_path = join_path(directory, "torchrun");
  if (in_path.path == beside_path) return {.program = "torchrun", .python_exec = "", .seen = seen};
  const PathState* beside = inputs.kind(beside_path);
  if (beside == nullptr) return {.known = false, .program = "", .python_exec = ""};
  if (beside->kind == PathState::Kind::kFile) {
    return {.program = beside_path, .python_exec = "", .seen = true};
  }
  if (!seen) return {};
  return {.program = "torchrun", .python_exec = python, .seen = true};
}

std::vector<std::string> static_flags(const Job& job, const std::string& address) {
  return {"--nproc_per_node=" + std::to_string(job.slots),
          "--nnodes=" + std::to_string(job.node_count),
          "--node_rank=" + std::to_string(job.node_rank), "--master_addr=" + address,
          "--master_port=" + std::to_string(job.port)};
}

// Returns torchrun's rendezvous flags. Values of variables are used only if the endpoint is given
// too, because an image may set the others alone.
std::vector<std::string> rendezvous_flags(const Inputs& inputs, const ResolvedCluster& resolved,
                                          const Job& job) {
  const auto given = [&inputs](const char* variable, std::string otherwise) {
    const std::string_view value = inputs.variable(variable);
    const bool taken = !value.empty() && !given_endpoint(inputs).empty();
    return taken ? std::string(value) : std::move(otherwise);
  };
  const std::string backend = given("PET_RDZV_BACKEND", "c10d");
  std::string conf(inputs.variable("PET_RDZV_CONF"));
  // With c10d, torchrun asks the resolver whether the endpoint is this host. The node rank answers
  // that better.
  if (given_endpoint(inputs).empty() && backend == "c10d") {
    conf = (job.node_rank == 0 ? "is_host=1" : "is_host=0") + (conf.empty() ? "" : "," + conf);
  }
  std::vector<std::string> flags = {
      "--nproc_per_node=" + std::to_string(job.slots), "--nnodes=" + node_range(job),
      "--rdzv_backend=" + backend,
      "--rdzv_endpoint=" + given("PET_RDZV_ENDPOINT", endpoint_of(job)),
      "--rdzv_id=" + given("PET_RDZV_ID", rendezvous_id(resolved))};
  if (!conf.empty()) flags.push_back("--rdzv_conf=" + conf);
  return flags;
}

std::vector<std::string> torchrun_flags(const Inputs& inputs, const ResolvedCluster& resolved,
                                        const Job& job) {
  const std::string ranks = "--nproc_per_node=" + std::to_string(job.slots);
  if (job.elastic()) return rendezvous_flags(inputs, resolved, job);
  // The workers of c10d use the host's own name for their rendezvous. A container without a network
  // cannot resolve it.
  const bool named = job.port_given || !inputs.request().master_addr.empty();
  if (job.alone() && !named && !inputs.facts().addresses.empty()) {
    return {ranks, "--nnodes=1", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0"};
  }
  return static_flags(job, flag_address(job.address));
}

// The Python options before the script. With `only_unbuffered` they need not be passed on, because
// torchrun itself uses "python -u".
struct PythonOptions {
  std::vector<std::string> options;  // without -m and -c
  bool only_unbuffered = true;
};
PythonOptions options_of(const std::vector<std::string>& command, const PythonCommand& python) {
  PythonOptions result;
  for (std::size_t i = 1; i < python.operand; ++i) {
    std::string option = command[i];
    const bool names_operand = i + 1 == python.operand && (python.module || python.text);
    if (names_operand) option.pop_back();
    if (option == "-") continue;
    result.only_unbuffered = result.only_unbuffered && option == "-u";
    result.options.push_back(std::move(option));
  }
  return result;
}

// Unsets PET_* variables of the platform or the image that would add flags to trainit's own. With
// `keep_rendezvous`, variables that give the job's rendezvous stay.
std::vector<base::EnvEdit> unset_agent_variables(const base::Environ& env, bool keep_rendezvous) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "PET_STANDALONE",   "PET_MODULE",        "PET_NO_PYTHON", "PET_RUN_PATH",
      "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_ID",
  };
  const std::span<const std::string_view> names = kNames;
  return unset_present(env, keep_rendezvous ? names.first(4) : names);
}

// Returns true if variables request features that only an agent has.
bool configures_agent(const base::Environ& env) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "PET_MAX_RESTARTS", "PET_MONITOR_INTERVAL", "PET_START_METHOD",
      "PET_ROLE",         "PET_LOG_DIR",          "PET_REDIRECTS",
      "PET_TEE",          "PET_NUMA_BINDING",     "PET_LOCAL_RANKS_FILTER",
      "PET_LOGS_SPECS",
  };
  return std::ranges::any_of(
      kNames, [&env](std::string_view name) { return !env.get_or(name, "").empty(); });
}

Process agent_process(const Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                      std::vector<std::string> argv, Plan& plan) {
  Process process = main_process(inputs, resolved.platform, std::move(argv), plan);
  append(process.env, unset_stale(inputs, plan, rank_variables()));
  append(process.env, unset_agent_variables(planned_environment(inputs, plan), job.elastic()));
  keep_error_files(inputs, process, plan);
  hide_rank_table(inputs, resolved, process.env);
  return process;
}

void launch_torchrun(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                     const Torchrun& torchrun, Plan& plan) {
  const ParsedCommand& typed = resolved.platform.command;
  const std::vector<std::string>& command = typed;
  const PythonCommand& python = *typed.python();
  std::vector<std::string> argv = {torchrun.program};
  std::ranges::move(torchrun_flags(inputs, resolved, job), std::back_inserter(argv));
  const bool as_it_is = python.text || !options_of(command, python).only_unbuffered;
  if (as_it_is) argv.emplace_back("--no_python");
  if (!as_it_is && python.module) argv.emplace_back("-m");
  const auto first = static_cast<std::ptrdiff_t>(as_it_is ? 0 : python.operand);
  argv.insert(argv.end(), command.begin() + first, command.end());
  warn_of_torch_agent(inputs.request(), plan);
  Process process = agent_process(inputs, resolved, job, std::move(argv), plan);
  if (as_it_is) {
    process.env.push_back({Kind::kSetDefault, "PYTHONUNBUFFERED", "1"});
  } else if (!torchrun.python_exec.empty()) {
    process.env.push_back({Kind::kSet, "PYTHON_EXEC", torchrun.python_exec});
  }
  plan.elastic_launcher = job.elastic();
  if (job.elastic()) {
    // Sets restarts, because with torchrun's default of 0 the job would end when a node leaves.
    process.env.push_back({Kind::kSetDefault, "PET_MAX_RESTARTS", "3"});
  }
  plan.processes.push_back(std::move(process));
}

// Returns the --master_addr for torch.distributed.launch. The platform's documents prescribe
// localhost on the first node. In an image with torchrun the agent publishes --master_addr to the
// workers of all nodes, so localhost is not used there.
std::string legacy_address(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                           const Plan& plan) {
  const bool by_platform = resolved.platform.master_is_localhost && job.node_rank == 0;
  if (!by_platform || !inputs.request().master_addr.empty()) return job.address;
  const bool published =
      !job.alone() && find_torchrun(inputs, plan, resolved.platform.command[0]).seen;
  return published ? job.address : "localhost";
}

base::Status launch_legacy(Inputs& inputs, const ResolvedCluster& resolved, const Job& job,
                           Plan& plan) {
  constexpr const char* kModule = "torch.distributed.launch";
  const ParsedCommand& typed = resolved.platform.command;
  const std::vector<std::string>& command = typed;
  const PythonCommand& python = *typed.python();
  if (python.text) {
    return base::fail(kPlanning, "the command",
                      std::string("a -c text, which ") + kModule + " cannot start",
                      "use --fan-out");
  }
  if (job.mixed_slots) {
    return base::fail(kPlanning, kModule,
                      "nodes with different numbers of ranks, which it miscounts",
                      "use --fan-out, or torchrun");
  }
  if (job.elastic()) {
    return base::fail(kPlanning, kModule, "a range of nodes, which it does not know",
                      "use torchrun, or a fixed number of nodes");
  }
  PythonOptions options = options_of(command, python);
  if (!options.only_unbuffered) {
    plan.warnings.push_back(std::string(kModule) + " does not pass " + options.options[0] +
                            " on to its workers; use --fan-out, or PYTHON* variables");
  }
  std::vector<std::string> argv = {command[0]};
  std::ranges::move(options.options, std::back_inserter(argv));
  argv.insert(argv.end(), {"-m", kModule});
  std::ranges::move(static_flags(job, legacy_address(inputs, resolved, job, plan)),
                    std::back_inserter(argv));
  if (python.module) argv.emplace_back("-m");
  argv.insert(argv.end(), command.begin() + static_cast<std::ptrdiff_t>(python.operand),
              command.end());
  plan.processes.push_back(agent_process(inputs, resolved, job, std::move(argv), plan));
  return {};
}

base::Status launch_pytorch(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  TRY_ASSIGN(auto told, node_job_of(inputs, resolved, kPlanning, kDefaultPort));
  if (!told) return {};
  Job& job = *told;
  take_rendezvous(inputs, job);
  if (resolved.cluster.nodes.empty()) plan.world_size = job.world_size;
  if (resolved.platform.own_rank) return launch_own_rank(inputs, resolved, job, plan);

  const Request& request = inputs.request();
  auto launcher =
      request.torch_launcher ? request.torch_launcher : resolved.platform.torch_launcher;
  if (launcher == TorchLauncher::kFanOut) return launch_fan_out(inputs, resolved, job, plan);
  if (is_users_own(resolved.platform.command, resolved, request)) {
    return launch_users_own(inputs, resolved, job, plan);
  }
  if (!job.elastic() || given_endpoint(inputs).empty()) TRY(needs_master(job, kPlanning));
  if (job.elastic()) TRY(check_endpoint(inputs, resolved, job));
  // A range of nodes needs torchrun, even if the platform usually uses another launcher.
  if (job.elastic() && !request.torch_launcher) launcher.reset();
  if (launcher == TorchLauncher::kLaunch) return launch_legacy(inputs, resolved, job, plan);

  Torchrun torchrun = find_torchrun(inputs, plan, resolved.platform.command[0]);
  if (!torchrun.known) return {};
  if (torchrun.program.empty() && launcher == TorchLauncher::kTorchrun) {
    torchrun.program = "torchrun";
  }
  if (torchrun.program.empty()) {
    const std::string& python = resolved.platform.command[0];
    plan.warnings.push_back("no torchrun was found: " + python +
                            " -m torch.distributed.launch starts the ranks, as an old PyTorch "
                            "needs; for another PyTorch, put torchrun into PATH or beside " +
                            python + ", or give --fan-out");
    return launch_legacy(inputs, resolved, job, plan);
  }
  if (!launcher && !job.elastic() && !configures_agent(planned_environment(inputs, plan))) {
    return launch_fan_out(inputs, resolved, job, plan);
  }
  launch_torchrun(inputs, resolved, job, torchrun, plan);
  return {};
}

constexpr ChosenBy kChosenBy[] = {ChosenBy::kOwnRank, ChosenBy::kTorchLauncher};

}  // namespace

extern const FrameworkLauncher kPyTorchLauncher = {.name = "pytorch",
                                                   .launch = launch_pytorch,
                                                   .chosen_by = kChosenBy,
                                                   .on_every_node = true,
                                                   .bind_option = "torchrun --numa-binding"};

}  // namespace envgen
