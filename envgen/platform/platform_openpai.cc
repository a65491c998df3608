// OpenPAI: a job has task roles, whose names the user chooses. PAI_TASK_ROLE_LIST lists them. Each
// role has PAI_TASK_ROLE_TASK_COUNT_<ROLE>, PAI_RESOURCE_<ROLE> ("gpus,cpus,memory,shm") and
// PAI_HOST_IP_<ROLE>_<INDEX>. Source: "Environmental Variables and Port Reservation" in
// microsoft/pai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md.

#include <algorithm>

#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading OpenPAI's variables";
constexpr const char* kOwnIndex = "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX";

std::optional<std::string> detect_openpai(Inputs& inputs) {
  for (const char* name : {"PAI_TASK_ROLE_LIST", "PAI_CURRENT_TASK_ROLE_NAME",
                           "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"}) {
    if (inputs.variable(name).empty()) return std::nullopt;
  }
  return "PAI_TASK_ROLE_LIST and PAI_CURRENT_TASK_ROLE_NAME are set";
}

base::Status add_nodes(const Inputs& inputs, const Variables& variables, const std::string& role,
                       std::vector<Node>& nodes) {
  const std::string count_name = "PAI_TASK_ROLE_TASK_COUNT_" + role;
  TRY_ASSIGN(auto count, number_in(inputs, count_name, {.least = 1}));
  if (!count) {
    return base::fail(kReading, count_name, "nothing", "pass on all PAI_* variables");
  }
  TRY_ASSIGN(auto some, nameless_nodes(*count, 0, count_name));
  const std::string resource_name = "PAI_RESOURCE_" + role;
  std::string_view resources = inputs.variable(resource_name);
  const auto gpus = base::parse_count<int>(base::trimmed(base::take_part(resources, ',')));
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::string host_name = "PAI_HOST_IP_" + role + "_" + std::to_string(i);
    Node& node = some[i];
    node.host = std::string(value_of(variables, host_name));
    if (node.host.empty())
      return base::fail(kReading, host_name, "nothing", "pass on all PAI_* variables");
    node.role = role;
    node.role_index = static_cast<int>(i);
    const bool idle = role == "ps" || role == "evaluator";
    if (gpus && !idle) node.slots = std::clamp(*gpus, 1, kMaxSlots);
    nodes.push_back(std::move(node));
  }
  return {};
}

Location locate_openpai(Inputs& inputs) {
  const Variables variables = variables_of(inputs, "PAI_");
  std::vector<Node> nodes;
  for (const std::string_view role : base::split(inputs.variable("PAI_TASK_ROLE_LIST"), ',')) {
    if (base::trimmed(role).empty()) continue;
    if (auto status = add_nodes(inputs, variables, std::string(base::trimmed(role)), nodes);
        !status) {
      return status.error();
    }
  }
  base::stable_sort(nodes, std::less(), [](const Node& node) { return place_of_role(node.role); });
  auto index = number_in(inputs, kOwnIndex);
  if (!index) return index.error();
  const std::string own_role(inputs.variable("PAI_CURRENT_TASK_ROLE_NAME"));
  const auto own = std::ranges::find_if(
      nodes, [&](const Node& node) { return node.role == own_role && node.role_index == *index; });
  if (own == nodes.end()) {
    return base::Error{"finding this node",
                       std::string("PAI_CURRENT_TASK_ROLE_NAME and ") + kOwnIndex,
                       base::quoted(own_role) + " and " + base::quoted(inputs.variable(kOwnIndex)),
                       "the role has to be in PAI_TASK_ROLE_LIST, the index below its task count"};
  }
  // A job with a single role, whatever its name, is a job without roles.
  const bool alike = nodes.front().role == nodes.back().role;
  const GivenNode place{static_cast<int>(own - nodes.begin()),
                        alike ? kOwnIndex : "the place of this role and index"};
  if (alike) {
    for (Node& node : nodes) {
      node.role.clear();
      node.role_index = 0;
    }
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("PAI_JOB_NAME"));
  return locate_node(inputs, std::move(nodes), place, {}, std::move(platform), 0);
}

}  // namespace

extern const Platform kOpenPaiPlatform = {"openpai", detect_openpai, locate_openpai};

}  // namespace envgen
