#include "envgen/resolve/identity.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "envgen/platform/cluster_signs.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr std::string_view kDigits = "0123456789";

// "algo-#" of "algo-12".
std::string without_numbers(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool digit = kDigits.contains(c);
    if (!digit || !result.ends_with('#')) result += digit ? '#' : c;
  }
  return result;
}

// Whether two names differ in numbers alone.
bool are_siblings(std::string_view one, std::string_view other) {
  return one != other && without_numbers(one) == without_numbers(other);
}

std::string_view label_of(std::string_view host) {
  const bool is_address = host.find_first_not_of("0123456789.:abcdefABCDEF") == host.npos;
  return is_address ? std::string_view() : host.substr(0, host.find('.'));
}

std::unexpected<Error> contradiction(const ResolvedCluster& resolved, const std::string& found) {
  return fail(
      "finding this node",
      "node " + std::to_string(resolved.local_node.node_rank) + ", " + resolved.local_node.reason,
      found, "correct the number of this node, the master or the host's name");
}

}  // namespace

Result<std::string> check_identity(const Inputs& inputs, const ResolvedCluster& resolved) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  const std::string_view own = label_of(inputs.facts().host_name);
  if (nodes.size() < 2 || own.empty()) return std::string();
  const auto rank = static_cast<std::size_t>(resolved.local_node.node_rank);
  const std::string_view told = label_of(nodes.at(rank).host);
  const std::string called = "this machine is called " + std::string(own);
  if (are_siblings(told, own)) {
    const auto other =
        std::ranges::find(nodes, own, [](const Node& node) { return label_of(node.host); });
    if (other != nodes.end()) {
      return contradiction(resolved, called + ", which is node " +
                                         std::to_string(other - nodes.begin()) +
                                         ", and that node is " + std::string(told));
    }
  }
  const std::string& asked = inputs.request().master_addr;
  const std::string_view master = label_of(asked.empty() ? resolved.cluster.master_addr : asked);
  const std::string_view first = label_of(nodes[0].host);
  if (rank != 0 || (!first.empty() && first != master) || !are_siblings(master, own)) {
    return std::string();
  }
  return "this is node 0, " + resolved.local_node.reason + ", but " + called +
         ", and the master is " + std::string(master) +
         ": if they are two machines, correct the number of this node or the master";
}

Result<std::string> check_replica_name(const Inputs& inputs) {
  constexpr std::size_t kMostDigits = 2;  // more are a hash, or a date
  if (inputs.variable("KUBERNETES_SERVICE_HOST").empty()) return std::string();
  const std::string_view name = label_of(inputs.facts().host_name);
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::string();
  const std::string_view digits = name.substr(dash + 1);
  const auto number = parse_count<int>(digits);
  if (!number || digits.size() > kMostDigits) return std::string();
  if (*number > 0) return std::unexpected(sign_of_several("this pod's name", quoted(name)));
  return "the pod's name " + std::string(name) +
         " looks like the first of several replicas; trainit plans a job of this pod alone: give "
         "--nodes 1 to confirm";
}

}  // namespace envgen
