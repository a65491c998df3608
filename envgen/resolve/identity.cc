#include "envgen/resolve/identity.h"

#include <algorithm>
#include <string_view>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/platform/cluster_signs.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Replaces each number in a name: "algo-12" becomes "algo-#".
std::string without_numbers(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool digit = kDigits.contains(c);
    if (!digit || !result.ends_with('#')) result += digit ? '#' : c;
  }
  return result;
}

// Returns whether two names differ only in numbers.
bool are_siblings(std::string_view one, std::string_view other) {
  return one != other && without_numbers(one) == without_numbers(other);
}

// Returns the host if it is a name; "" if it is an address.
std::string_view name_of(std::string_view host) {
  return is_address(host) ? std::string_view() : label_of(host);
}

// Returns whether the host is an IPv4 address and not loopback. Other addresses can be written in
// several forms, so they cannot be compared as texts.
bool is_ipv4(std::string_view host) {
  return !host.empty() && is_address(host) && !host.contains(':') && !is_loopback(host);
}

bool is_own(const Inputs& inputs, std::string_view address) {
  return std::ranges::find(inputs.facts().addresses, address) != inputs.facts().addresses.end();
}

std::string_view master_of(const Inputs& inputs, const ResolvedCluster& resolved) {
  const std::string& asked = inputs.request().master_addr;
  return asked.empty() ? resolved.cluster.master_addr : asked;
}

std::unexpected<base::Error> contradiction(const ResolvedCluster& resolved,
                                           const std::string& found) {
  return base::fail(
      "finding this node",
      "node " + std::to_string(resolved.local_node.node_rank) + ", " + resolved.local_node.reason,
      found, "correct the number of this node, the master or the host's name");
}

// Returns an error if the list has this machine's address for another node, but not for this one.
// The master's address is no proof: two nodes may be on one host, and an address may be forwarded
// to this machine.
base::Result<std::string> check_addresses(const Inputs& inputs, const ResolvedCluster& resolved) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  const int rank = resolved.local_node.node_rank;
  if (inputs.facts().addresses.empty()) return std::string();
  const std::string& told = nodes.at(static_cast<std::size_t>(rank)).host;
  const auto other = std::ranges::find_if(
      nodes, [&](const Node& node) { return is_ipv4(node.host) && is_own(inputs, node.host); });
  if (is_ipv4(told) && !is_own(inputs, told) && other != nodes.end()) {
    return contradiction(resolved, "this machine has the address " + other->host +
                                       ", which is node " + std::to_string(other - nodes.begin()) +
                                       ", and that node is " + told);
  }
  const std::string master(master_of(inputs, resolved));
  if (!is_ipv4(master) || is_own(inputs, master) == (rank == 0)) return std::string();
  return "this is node " + std::to_string(rank) + ", " + resolved.local_node.reason +
         ", and the master's address " + master +
         (rank == 0 ? " is none of this machine's: if it does not lead here"
                    : " is this machine's own: if node 0 runs elsewhere") +
         ", correct the number of this node or the master";
}

}  // namespace

base::Result<std::string> check_identity(const Inputs& inputs, const ResolvedCluster& resolved) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  if (nodes.size() < 2) return std::string();
  TRY_ASSIGN(auto warning, check_addresses(inputs, resolved));
  const std::string_view own = name_of(inputs.facts().host_name);
  if (own.empty() || !warning.empty()) return warning;
  const auto rank = static_cast<std::size_t>(resolved.local_node.node_rank);
  const std::string_view told = name_of(nodes.at(rank).host);
  const std::string called = "this machine is called " + std::string(own);
  if (are_siblings(told, own)) {
    const auto other =
        std::ranges::find(nodes, own, [](const Node& node) { return name_of(node.host); });
    if (other != nodes.end()) {
      return contradiction(resolved, called + ", which is node " +
                                         std::to_string(other - nodes.begin()) +
                                         ", and that node is " + std::string(told));
    }
  }
  const std::string_view master = name_of(master_of(inputs, resolved));
  const std::string_view first = name_of(nodes[0].host);
  if (rank != 0 || (!first.empty() && first != master) || !are_siblings(master, own)) {
    return std::string();
  }
  return "this is node 0, " + resolved.local_node.reason + ", but " + called +
         ", and the master is " + std::string(master) +
         ": if they are two machines, correct the number of this node or the master";
}

base::Result<std::string> check_replica_name(Inputs& inputs) {
  constexpr std::size_t kMaxDigits = 2;  // a longer number is probably a hash or a date
  static constexpr auto kRoles = base::words("worker", "replica", "rank", "trainer");
  if (inputs.variable("KUBERNETES_SERVICE_HOST").empty()) return std::string();
  const std::string_view name = name_of(inputs.facts().host_name);
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::string();
  const std::string_view digits = name.substr(dash + 1);
  const auto number = base::parse_count<int>(digits);
  if (!number || digits.size() > kMaxDigits) return std::string();
  const PathState* hosts = inputs.content(kHostsFile);
  // This header, which the kubelet writes, shows that the pod has the machine's name and not its
  // own.
  if (hosts != nullptr && hosts->content.contains("(host network)")) return std::string();
  const std::string text = "the pod's name " + std::string(name) + " looks like ";
  if (*number == 0) return lone_warning(text + "the first of several replicas");
  const std::string_view stem = name.substr(0, dash);
  const std::string_view role = stem.substr(stem.rfind('-') + 1);
  const bool in_service = hosts != nullptr && !own_domain(*hosts, name).empty();
  if (in_service || std::ranges::find(kRoles, role) != kRoles.end()) {
    return std::unexpected(sign_of_several("this pod's name", base::quoted(name)));
  }
  return lone_warning(text + "that of one of several replicas");
}

}  // namespace envgen
