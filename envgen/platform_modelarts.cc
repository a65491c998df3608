// Huawei ModelArts: RANK_TABLE_FILE names a directory, its own launcher (run_ascend) numbers the
// pods by their index and calls devices by their index in the pod. Sources: ModelArts' custom image
// document and its run_ascend scripts.

#include "envgen/platform.h"

namespace envgen {
namespace {

constexpr const char* kDefaultTableDir = "/user/config";

// The job's name as ModelArts' launcher gives it to CANN.
std::string job_id_of(const Inputs& inputs) {
  std::string name(inputs.variable("MA_VJ_NAME"));
  constexpr std::string_view kPrefix = "ma-job";
  if (std::size_t at = name.find(kPrefix); at != std::string::npos) {
    name.replace(at, kPrefix.size(), "modelarts-job");
  }
  return name;
}

IdentityHints hints_of(const Inputs& inputs) {
  IdentityHints hints;
  auto add = [&inputs](std::vector<IdentityHints::Hint>& list, const char* variable,
                       bool definite = false) {
    std::string value(inputs.variable(variable));
    if (!value.empty()) list.push_back({variable, std::move(value), definite});
  };
  add(hints.pod_names, "MA_CURRENT_INSTANCE_NAME", true);
  add(hints.pod_names, "BATCH_TASK_CURRENT_INSTANCE", true);
  add(hints.pod_names, "POD_NAME");
  hints.pod_names.push_back({"the host name", inputs.facts().host_name});
  add(hints.container_ips, "POD_IP");
  add(hints.container_ips, "MA_CURRENT_IP");
  add(hints.host_ips, "MA_CURRENT_HOST_IP");
  add(hints.host_ips, "HOST_IP");
  add(hints.server_ids, "MA_CURRENT_HOST_IP");
  add(hints.server_ids, "HOST_IP");
  add(hints.server_ids, "MA_CURRENT_IP");
  for (const std::string& address : inputs.facts().addresses) {
    hints.container_ips.push_back({"an interface address", address});
    hints.host_ips.push_back({"an interface address", address});
    hints.server_ids.push_back({"an interface address", address});
  }
  return hints;
}

Site site_of(const Inputs& inputs) {
  Site site;
  site.job_id = job_id_of(inputs);
  if (auto mount = inputs.variable("MA_MOUNT_PATH"); !mount.empty()) {
    site.work_dir = join_path(mount, "workspace");
  }
  site.log_dir = std::string(inputs.variable("MA_LOG_DIR"));
  site.log_suffix = ".txt";  // the platform collects *.log by itself
  site.device_ids = DeviceIds::kLogical;
  return site;
}

}  // namespace

std::optional<std::string> detect_modelarts(Inputs& inputs) {
  for (const char* name :
       {"MA_CURRENT_INSTANCE_NAME", "MA_VJ_NAME", "MA_JOB_DIR", "BATCH_TASK_CURRENT_INSTANCE"}) {
    if (!inputs.variable(name).empty()) return std::string(name) + " is set";
  }
  std::string table(inputs.variable("RANK_TABLE_FILE"));
  if (table.empty() || table.ends_with(".json")) return std::nullopt;
  const PathState* state = inputs.kind(join_path(inputs.facts().cwd, table));
  if (state == nullptr || state->kind == PathState::Kind::kFile) return std::nullopt;
  return "RANK_TABLE_FILE names a directory";
}

Location locate_modelarts(Inputs& inputs) {
  std::string named = inputs.request().rank_table;
  for (const char* name : {"RANK_TABLE_FILE", "RANK_TABLE_FILE_V_1_0"}) {
    if (named.empty()) named = std::string(inputs.variable(name));
  }
  if (named.empty()) {
    // A GPU or CPU job has no table; the launcher's default place tells an Ascend one.
    const PathState* directory = inputs.kind(kDefaultTableDir);
    if (directory == nullptr) return NeedsPaths{};
    if (directory->kind != PathState::Kind::kDirectory && inputs.request().framework != "ascend") {
      return Located{.cluster = {},
                     .self = {0, "no rank table: one node"},
                     .site = site_of(inputs),
                     .waits = {},
                     .warnings = {}};
    }
    named = kDefaultTableDir;
  }
  auto path = find_rank_table(inputs, named);
  if (!path) return NeedsPaths{};
  return locate_by_table(inputs, *path, RankOrder::kPodIndex, hints_of(inputs), site_of(inputs));
}

}  // namespace envgen
