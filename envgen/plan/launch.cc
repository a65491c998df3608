#include "envgen/plan/launch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/search_path.h"

namespace envgen {
bool starts_msrun(const ParsedCommand& command) {
  return command.is_launcher() && command.launcher()->program == "msrun";
}

namespace {

// Returns the log directory in the launcher's own flags, which end at the script or its module.
std::string_view log_dir_flag(const std::vector<std::string>& argv, std::size_t from) {
  for (std::size_t i = from; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word == "-m" || word == "--module" || word.ends_with(".py")) break;
    for (const std::string_view name : {"--log_dir", "--log-dir"}) {
      if (!word.starts_with(name)) continue;
      if (word.size() == name.size())
        return i + 1 < argv.size() ? std::string_view(argv[i + 1]) : "";
      if (word[name.size()] == '=') return word.substr(name.size() + 1);
    }
  }
  return {};
}

void find_rank_logs(const Inputs& inputs, Process& process) {
  const ParsedCommand command(process.argv);
  if (!command.is_launcher()) return;
  const bool msrun = starts_msrun(command);
  // Only torchrun, and launchers that read its variables, keep the output of ranks in this way.
  if (!msrun && command.launcher()->reads != LauncherReads::kPet) return;
  std::string_view told = log_dir_flag(command, command.launcher_arguments());
  if (!msrun && told.empty()) told = inputs.variable("PET_LOG_DIR");
  if (!msrun && told.empty()) return;  // without a directory, torchrun makes a new one in /tmp
  process.rank_logs = msrun ? RankLogs::kMsrun : RankLogs::kTorchrun;
  process.rank_dir = join_path(process.cwd, told.empty() ? "." : told);
}

}  // namespace

bool inherits_output(const Request& request, std::size_t index) {
  switch (request.output.value_or(Output::kFirst)) {
    case Output::kInherit:
      return true;
    case Output::kFiles:
    case Output::kTee:
      return false;
    case Output::kFirst:
      break;
  }
  return index == 0;
}

void add_rank_log(const Request& request, const PlatformFacts& platform, const Plan& plan,
                  Process& process) {
  if (!inherits_output(request, plan.processes.size())) {
    process.log = join_path(platform.log_dir, process.name + platform.log_suffix);
  }
  process.env_file = join_path(platform.log_dir, process.name + ".env");
}

std::string rank_table_path(const Inputs& inputs) {
  return join_path(inputs.facts().run_dir, "rank_table/jobstart_hccl.json");
}

bool hccl_opens(std::string_view path) {
  constexpr std::string_view kEnd = ".json";
  return path.find(kEnd) + kEnd.size() == path.size();
}

void add_rank_table(const std::string& path, const Cluster& cluster, Plan& plan) {
  plan.directories.push_back({path.substr(0, path.rfind('/'))});
  plan.files.push_back({path, 0644, cluster.rank_table, ""});
}

std::string start_directory(const Inputs& inputs, const PlatformFacts& platform) {
  return platform.cwd.empty() ? inputs.facts().cwd : platform.cwd;
}

Process main_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, Plan& plan) {
  Process process;
  process.name = "main";
  if (platform.own_rank) {
    process.rank = *platform.own_rank;
    process.name = "rank-" + std::to_string(process.rank);
  }
  process.argv = std::move(argv);
  process.cwd = start_directory(inputs, platform);
  if (!process.argv.empty()) find_rank_logs(inputs, process);
  if (!inherits_output(inputs.request(), 0)) {
    plan.directories.push_back({platform.log_dir});
    add_rank_log(inputs.request(), platform, plan, process);
  }
  return process;
}

Process rank_process(const Inputs& inputs, const PlatformFacts& platform,
                     std::vector<std::string> argv, int rank, const Plan& plan) {
  Process process;
  process.rank = rank;
  process.name = "rank-" + std::to_string(rank);
  process.argv = std::move(argv);
  process.cwd = start_directory(inputs, platform);
  add_rank_log(inputs.request(), platform, plan, process);
  return process;
}

base::Environ planned_environment(const Inputs& inputs, const Plan& plan) {
  base::Environ env = inputs.env();
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  return env;
}

FoundProgram find_program(Inputs& inputs, std::string_view search_path, std::string_view name) {
  FoundProgram found;
  // Continues after a path that the snapshot lacks, so that all paths are requested in one round.
  for (const std::string& each : base::places_of_program(search_path, name)) {
    std::string place = join_path(inputs.facts().cwd, each);
    const PathState* state = inputs.kind(place);
    if (state == nullptr) found.known = false;
    if (found.known && state->kind == PathState::Kind::kFile) {
      found.path = std::move(place);
      return found;
    }
  }
  return found;
}

bool is_promised(const Plan& plan, std::string_view name) {
  return std::ranges::any_of(plan.env, [name](const base::EnvEdit& edit) {
    return edit.name == name && edit.kind != base::EnvEdit::Kind::kUnset;
  });
}

std::vector<base::EnvEdit> unset_stale(const Inputs& inputs, const Plan& plan,
                                       std::span<const std::string_view> names) {
  std::vector<base::EnvEdit> edits;
  for (const std::string_view name : names) {
    if (!inputs.env().get(name) || is_promised(plan, name)) continue;
    edits.push_back({base::EnvEdit::Kind::kUnset, std::string(name), ""});
  }
  return edits;
}

std::span<const std::string_view> rank_variables() {
  static constexpr std::array<std::string_view, 10> kNames = {
      "RANK",      "LOCAL_RANK",       "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
      "NODE_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",  "ROLE_WORLD_SIZE",  "ROLE_NAME",
  };
  return kNames;
}

std::vector<base::EnvEdit> torch_rank_environment(const TorchRank& rank) {
  using Kind = base::EnvEdit::Kind;
  const std::string number = std::to_string(rank.rank);
  const std::string world_size = std::to_string(rank.world_size);
  const std::string node_rank = std::to_string(rank.node_rank);
  std::vector<base::EnvEdit> edits = {
      {Kind::kSet, "RANK", number},
      {Kind::kSet, "LOCAL_RANK", std::to_string(rank.local_rank)},
      {Kind::kSet, "WORLD_SIZE", world_size},
      {Kind::kSet, "LOCAL_WORLD_SIZE", std::to_string(rank.local_world_size)},
      {Kind::kSet, "GROUP_RANK", node_rank},
      {Kind::kSet, "GROUP_WORLD_SIZE", std::to_string(rank.node_count)},
      {Kind::kSet, "NODE_RANK", node_rank},
      {Kind::kSet, "ROLE_NAME", "default"},
      {Kind::kSet, "ROLE_RANK", number},
      {Kind::kSet, "ROLE_WORLD_SIZE", world_size},
      {Kind::kSet, "MASTER_ADDR", rank.master_addr},
      {Kind::kSet, "MASTER_PORT", std::to_string(rank.master_port)},
      {Kind::kSet, "TORCHELASTIC_RUN_ID", rank.run_id},
      {Kind::kSet, "TORCHELASTIC_RESTART_COUNT", "0"},
      {Kind::kSet, "TORCHELASTIC_MAX_RESTARTS", std::to_string(rank.max_restarts)},
      {Kind::kSet, "TORCHELASTIC_USE_AGENT_STORE", "False"},
      {Kind::kSetDefault, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
  };
  // Sets the old name only for old versions, because later ones warn about it on each rank.
  if (rank.before_2_2) edits.push_back({Kind::kSetDefault, "NCCL_ASYNC_ERROR_HANDLING", "1"});
  if (!rank.error_file.empty()) {
    edits.push_back({Kind::kSet, "TORCHELASTIC_ERROR_FILE", rank.error_file});
  }
  // As torchrun does, because otherwise the threads of each rank would use every CPU.
  if (rank.local_world_size > 1) edits.push_back({Kind::kSetDefault, "OMP_NUM_THREADS", "1"});
  return edits;
}

void set_of_processes(Plan& plan, std::string_view name, const std::string& value) {
  for (Process& process : plan.processes) {
    for (base::EnvEdit& edit : process.env) {
      if (edit.name == name && edit.kind != base::EnvEdit::Kind::kUnset) edit.value = value;
    }
  }
}

std::vector<std::string> openmpi_training_flags() {
  return {"--allow-run-as-root",
          "--bind-to",
          "none",
          "--map-by",
          "slot",
          "-x",
          "NCCL_DEBUG=INFO",
          "-x",
          "LD_LIBRARY_PATH",
          "-x",
          "PATH",
          "-mca",
          "pml",
          "ob1",
          "-mca",
          "btl",
          "^openib"};
}

}  // namespace envgen
