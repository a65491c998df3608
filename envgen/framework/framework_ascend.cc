// Ascend with a rank table: one process per device of this node, as ModelArts' launcher and run.sh
// of the MindSpore documents do. All run the same command, each with its own rank environment,
// directory and log.

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "envgen/framework/framework.h"
#include "envgen/framework/framework_mindspore.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

constexpr const char* kPlanning = "planning one process per Ascend device";

// Returns where a path begins in an argument: at 0, or after the '=' of an option.
std::size_t path_offset(const std::string& argument) {
  if (!argument.starts_with('-')) return 0;
  std::size_t equals = argument.find('=');
  return equals == std::string::npos ? argument.size() : equals + 1;
}

// Makes a relative path of a file under the original directory absolute. A bare word that is also a
// directory's name ("--mode train") stays unchanged.
std::string absolute_argument(Inputs& inputs, const std::string& directory,
                              const std::string& argument, bool is_program) {
  std::size_t offset = path_offset(argument);
  std::string relative = argument.substr(offset);
  bool has_slash = relative.find('/') != std::string::npos;
  if (relative.empty() || relative.starts_with('/') || (is_program && !has_slash)) return argument;
  std::string absolute = join_path(directory, relative);
  const PathState* state = inputs.kind(absolute);
  if (state == nullptr) return argument;
  bool names_it = state->kind == PathState::Kind::kFile ||
                  (state->kind == PathState::Kind::kDirectory && has_slash);
  return names_it ? argument.substr(0, offset) + absolute : argument;
}

// Returns true for a Python command with -m or -c. Such a command finds the script's neighbours
// through its working directory, which differs from the rank's.
bool imports_from_cwd(const std::optional<PythonCommand>& python) {
  return python && (python->module || python->text);
}

std::vector<std::string> absolute_command(Inputs& inputs, const PlatformFacts& platform) {
  const std::vector<std::string>& command = platform.command;
  const std::string directory = start_directory(inputs, platform);
  const auto& python = platform.command.python();
  std::vector<std::string> result;
  result.reserve(command.size());
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool keep = imports_from_cwd(python) && i == python->operand;
    result.push_back(keep ? command[i] : absolute_argument(inputs, directory, command[i], i == 0));
  }
  return result;
}

base::Result<std::string> table_path(const Inputs& inputs) {
  if (inputs.facts().run_dir.empty()) {
    return base::fail("placing the rank table", "TRAINIT_RUN_DIR", "no writable run directory",
                      "mount a tmpfs at /run, or set TRAINIT_RUN_DIR to a writable directory");
  }
  std::string path = rank_table_path(inputs);
  if (!hccl_opens(path)) {
    return base::fail("placing the rank table", path,
                      "\".json\" inside the path, which HCCL refuses",
                      "set TRAINIT_RUN_DIR to a directory without it");
  }
  return path;
}

// Returns the first writable directory: the platform's, the working directory, or one below
// RUN_DIR.
std::string work_dir_of(Inputs& inputs, const PlatformFacts& platform, Plan& plan) {
  if (const std::string& asked = inputs.request().work_dir; !asked.empty()) {
    // /proc/self/cwd is resolved here, because it means another directory in each process, and the
    // job's user may not be allowed to follow it.
    constexpr std::string_view kOurs = "/proc/self/cwd";
    if (asked == kOurs || asked.starts_with(std::string(kOurs) + "/")) {
      return inputs.facts().cwd + asked.substr(kOurs.size());
    }
    return join_path(inputs.facts().cwd, asked);
  }
  std::vector<std::string> places = {inputs.facts().cwd, join_path(inputs.facts().run_dir, "work")};
  if (!platform.work_dir.empty()) places.insert(places.begin(), platform.work_dir);
  std::size_t chosen = 0;
  while (chosen + 1 < places.size() && !can_be_made(inputs, places[chosen])) ++chosen;
  if (chosen > 0) {
    plan.warnings.push_back((places[0].empty() ? "a deleted working directory" : places[0]) +
                            " cannot be written; the ranks' directories move to " + places[chosen]);
  }
  return places[chosen];
}

std::vector<base::EnvEdit> rank_environment(const Device& device, const std::string& device_id,
                                            const std::string& table,
                                            const ResolvedCluster& resolved) {
  using Kind = base::EnvEdit::Kind;
  const PlatformFacts& platform = resolved.platform;
  std::string rank = std::to_string(device.rank);
  return {
      {Kind::kSet, "RANK_TABLE_FILE", table},
      {Kind::kSet, "RANK_ID", rank},
      {Kind::kSet, "RANK_SIZE", std::to_string(resolved.cluster.world_size)},
      {Kind::kSet, "ASCEND_DEVICE_ID", device_id},
      {Kind::kSet, "DEVICE_ID", device_id},
      {Kind::kSetDefault, "JOB_ID", platform.job_id.empty() ? "trainit" : platform.job_id},
      // Starts of machines can differ by more than CANN's own limit of 120 s.
      {Kind::kSetDefault, "HCCL_CONNECT_TIMEOUT", "1800"},
      {Kind::kSetDefault, "ASCEND_PROCESS_LOG_PATH",
       join_path(platform.log_dir, "ascend/process_log/rank_" + rank)},
  };
}

// Returns the indexes in node.devices of the devices that this container drives, in the order of
// their ranks. The first rank prints on stdout, whatever the order of the table.
base::Result<std::vector<std::size_t>> own_places(const Node& node, const PlatformFacts& platform) {
  std::vector<std::size_t> by_rank(node.devices.size());
  std::iota(by_rank.begin(), by_rank.end(), std::size_t{0});
  std::ranges::sort(by_rank, {}, [&node](std::size_t i) { return node.devices[i].rank; });
  if (!platform.own_rank) return by_rank;
  const auto place = static_cast<std::size_t>(platform.local_rank);
  const std::string task = "task " + std::to_string(platform.local_rank) + " of this node, rank " +
                           std::to_string(*platform.own_rank);
  if (place >= by_rank.size()) {
    return base::fail(kPlanning, "the rank table",
                      std::to_string(by_rank.size()) + " devices on this node, and this is " + task,
                      "start one task per device, or one per node");
  }
  const int rank = node.devices[by_rank[place]].rank;
  if (rank != *platform.own_rank) {
    return base::fail(kPlanning, "the rank table", "rank " + std::to_string(rank) + " for " + task,
                      "start one task per node, or number the tasks as the table does");
  }
  return std::vector{by_rank[place]};
}

// Plans one process per Ascend device of this node, or a launcher that starts them.
base::Status launch_ascend(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  if (const ParsedCommand& typed = resolved.platform.command; typed.launcher()) {
    if (typed.framework() == "ascend") return launch_msrun(inputs, resolved, plan);
    return base::fail(kPlanning, "--framework ascend",
                      typed.launcher_name() + ", which starts the ranks by itself",
                      "name the training script alone, or leave out --framework ascend");
  }
  const AscendLauncher launcher = inputs.request().ascend_launcher.value_or(
      resolved.platform.ascend_launcher.value_or(AscendLauncher::kRankTable));
  if (launcher == AscendLauncher::kMsrun) return launch_msrun(inputs, resolved, plan);
  if (launcher == AscendLauncher::kDynamic) return launch_dynamic_cluster(inputs, resolved, plan);
  if (resolved.cluster.rank_table.empty()) {
    return base::fail(
        kPlanning, "platform " + plan.platform, "no rank table",
        "name one with RANK_TABLE_FILE, or use --ascend-launcher msrun or dynamic, or "
        "--framework single");
  }
  TRY_ASSIGN(auto table, table_path(inputs));
  add_rank_table(table, resolved.cluster, plan);
  const std::string& log_dir = resolved.platform.log_dir;
  plan.directories.push_back({log_dir});

  const std::vector<std::string> command = absolute_command(inputs, resolved.platform);
  std::string work_dir = work_dir_of(inputs, resolved.platform, plan);
  const Request& request = inputs.request();
  bool own_log_path = inputs.variable("ASCEND_PROCESS_LOG_PATH").empty();

  const Node& node =
      resolved.cluster.nodes[static_cast<std::size_t>(resolved.local_node.node_rank)];
  bool logical = request.device_ids.value_or(resolved.platform.device_ids) == DeviceIds::kLogical;
  TRY_ASSIGN(auto places, own_places(node, resolved.platform));
  for (const std::size_t place : places) {
    const Device& device = node.devices[place];
    // The logical device id is the index in the table.
    const std::string device_id =
        std::to_string(logical ? static_cast<int>(place) : device.physical_id);
    Process process;
    process.rank = device.rank;
    process.device = device.physical_id;
    process.name = "rank-" + std::to_string(device.rank);
    process.argv = command;
    process.cwd = join_path(work_dir, "device" + device_id);
    process.env = rank_environment(device, device_id, table, resolved);
    // Unsets MindSpore's cluster variables, because MindSpore would use them instead of the table.
    for (auto names : {rank_variables(), mindspore_cluster_variables()}) {
      for (base::EnvEdit& edit : unset_stale(inputs, plan, names))
        process.env.push_back(std::move(edit));
    }
    if (imports_from_cwd(resolved.platform.command.python())) {
      process.env.push_back({base::EnvEdit::Kind::kPrependPath, "PYTHONPATH",
                             start_directory(inputs, resolved.platform)});
    }
    plan.directories.push_back({process.cwd, request.clean_device_dirs, true});
    if (own_log_path) {
      plan.directories.push_back(
          {join_path(log_dir, "ascend/process_log/rank_" + std::to_string(device.rank)), false,
           true});
    }
    add_rank_log(request, resolved.platform, plan, process);
    plan.processes.push_back(std::move(process));
  }
  return {};
}

constexpr ChosenBy kChosenBy[] = {ChosenBy::kDevices, ChosenBy::kAscendLauncher};

}  // namespace

extern const FrameworkLauncher kAscendLauncher = {.name = "ascend",
                                                  .launch = launch_ascend,
                                                  .chosen_by = kChosenBy,
                                                  .on_every_node = true,
                                                  .needs_cann = true};

}  // namespace envgen
