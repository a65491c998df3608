// Volcengine's machine learning platform (and BytePlus'). The nodes of a job have roles. Each role
// has MLP_<ROLE>_NUM, MLP_<ROLE>_GPU, and MLP_<ROLE>_<INDEX>_HOST and _PORT. MLP_ROLE and
// MLP_ROLE_INDEX show which node this is. Source: "List of common environment variables" of its
// documents (docs.byteplus.com/en/docs/mlp, volcengine.com/docs/6459/75329).

#include <algorithm>
#include <array>

#include "base/text.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading Volcengine's variables";

// Roles in the order of the nodes. BytePS' further roles SERVER and SCHEDULER run no ranks.
constexpr std::array<std::string_view, 4> kRoles = {"CHIEF", "WORKER", "PS", "EVALUATOR"};

std::optional<std::string> detect_mlp(Inputs& inputs) {
  if (inputs.variable("MLP_ROLE_INDEX").empty()) return std::nullopt;
  if (inputs.variable("MLP_WORKER_NUM").empty()) return std::nullopt;
  std::string role(inputs.variable("MLP_ROLE"));
  for (char& c : role) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (!role.empty() && std::ranges::find(kRoles, role) == kRoles.end()) return std::nullopt;
  return "MLP_ROLE_INDEX and MLP_WORKER_NUM are set";
}

// Returns a variable's name: "MLP_WORKER_0_HOST" for the role WORKER and "0_HOST".
std::string name_of(std::string_view role, std::string_view rest) {
  std::string name = "MLP_";
  name.append(role).append("_").append(rest);
  return name;
}

base::Status add_nodes(const Inputs& inputs, const Variables& variables, std::string_view role,
                       std::vector<Node>& nodes) {
  const std::string count_name = name_of(role, "NUM");
  TRY_ASSIGN(auto count, number_in(inputs, count_name));
  const std::string gpus_name = name_of(role, "GPU");
  TRY_ASSIGN(auto gpus, number_in(inputs, gpus_name, kSlots));
  if (count.value_or(0) == 0) return {};
  TRY_ASSIGN(auto some, nameless_nodes(*count, 0, count_name));
  for (std::size_t i = 0; i < some.size(); ++i) {
    Node& node = some[i];
    node.host = std::string(value_of(variables, name_of(role, std::to_string(i) + "_HOST")));
    node.role = base::lowercased(role);
    node.role_index = static_cast<int>(i);
    const bool trains = role == "WORKER" || role == "CHIEF";
    if (trains && gpus) node.slots = std::max(1, *gpus);
    const std::string port_name = name_of(role, std::to_string(i) + "_PORT");
    if (!value_of(variables, port_name).empty()) {
      TRY_ASSIGN(auto port, number_in(inputs, port_name, kPorts));
      node.port = port.value_or(0);
    }
    nodes.push_back(std::move(node));
  }
  return {};
}

base::Result<std::vector<Node>> nodes_of(const Inputs& inputs) {
  const Variables variables = variables_of(inputs, "MLP_");
  std::vector<Node> nodes;
  for (const std::string_view role : kRoles) {
    TRY(add_nodes(inputs, variables, role, nodes));
  }
  if (nodes.empty()) {
    return base::fail(kReading, "MLP_WORKER_NUM", "no nodes", "pass on all MLP_* variables");
  }
  return nodes;
}

base::Result<int> place_of(const Inputs& inputs, const std::vector<Node>& nodes) {
  TRY_ASSIGN(auto index, number_in(inputs, "MLP_ROLE_INDEX"));
  const std::string_view told = inputs.variable("MLP_ROLE");
  const std::string role = told.empty() ? "worker" : base::lowercased(told);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].role == role && nodes[i].role_index == index) return static_cast<int>(i);
  }
  return base::fail(
      "finding this node", "MLP_ROLE and MLP_ROLE_INDEX",
      base::quoted(role) + " and " + base::quoted(inputs.variable("MLP_ROLE_INDEX")),
      "it has to be chief, worker, ps or evaluator, and below the role's MLP_<ROLE>_NUM");
}

Location locate_mlp(Inputs& inputs) {
  auto nodes = nodes_of(inputs);
  if (!nodes) return nodes.error();
  auto place = place_of(inputs, *nodes);
  if (!place) return place.error();
  GivenMaster master{(*nodes)[0].host, "MLP_WORKER_0_HOST", (*nodes)[0].port};
  // If all nodes have the same role, the job has no roles, and each node has ranks.
  const bool alike = nodes->front().role == nodes->back().role;
  for (Node& node : *nodes) {
    if (!alike) continue;
    node.role.clear();
    node.role_index = 0;
    node.port = 0;
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("MLP_TASK_ID"));
  const GivenNode own{*place, alike ? "MLP_ROLE_INDEX" : "the place of this role and index"};
  return locate_node(inputs, std::move(*nodes), own, std::move(master), std::move(platform), 0);
}

}  // namespace

extern const Platform kMlpPlatform = {"mlp", detect_mlp, locate_mlp};

}  // namespace envgen
