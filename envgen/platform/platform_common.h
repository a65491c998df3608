#pragma once
// Helpers that several platforms use: numbers in variables, the search for this container in a list
// of nodes, --hosts, and a TF_CONFIG that the platform has set.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Maximum for the devices of a node and for the ranks of a job. With this limit, a typing error
// cannot make sums overflow.
inline constexpr int kMaxSlots = 1024 * 1024;

struct Bounds {
  int least = 0;
  int most = std::numeric_limits<int>::max();
};
inline constexpr Bounds kPorts = {1, 65535};
inline constexpr Bounds kSlots = {0, kMaxSlots};

// Returns true if the user names a framework whose ranks trainit must start. Otherwise the command
// runs as the user typed it, whatever variables are set.
bool asks_for_ranks(const Request& request);

// Returns true if the user names the nodes: by a rank table, --hosts, --devices, --nodes with
// --node-rank, or --nodes 1. These options have priority over variables, whose origin is not known.
bool names_nodes(const Inputs& inputs);

// Returns the whole number in a variable. Fails if it is no number or outside the bounds. Returns
// nullopt if the variable is unset or empty.
base::Result<std::optional<int>> number_in(const Inputs& inputs, std::string_view variable,
                                           Bounds bounds = {});

// Checks that the text can be the rendezvous address of a job: a name or an address, without a
// port.
base::Status check_master(std::string_view address, std::string_view source);

// Checks the address that a platform gave to node `node_rank` of `node_count`. Only the first node
// may have a loopback name as its master.
base::Status check_given_master(std::string_view address, std::string_view source, int node_rank,
                                std::size_t node_count);

// Returns the domain that follows this machine's name in /etc/hosts,
// ".service.namespace.svc.domain"; "" if the file does not have it. The kubelet writes "address
// name.service.namespace.svc.domain name" for a pod with a subdomain, as a StatefulSet's pods have
// it.
inline constexpr const char* kHostsFile = "/etc/hosts";
std::string own_domain(const PathState& hosts, std::string_view name);

// Returns the first of `variables` that is set and not empty: its name and value. Both are "" if
// none is.
struct Variable {
  std::string_view name;
  std::string_view value;
};
Variable first_set(const Inputs& inputs, std::initializer_list<std::string_view> variables);

// Returns the variable that names a rank table; two "" if none is set.
Variable rank_table_variable(const Inputs& inputs);

// Returns all variables whose names begin with `prefix`, sorted by name. For jobs of many nodes
// with several variables for each node, where each single lookup would search the whole
// environment.
using Variables = std::map<std::string_view, std::string_view>;
Variables variables_of(const Inputs& inputs, std::string_view prefix);
std::string_view value_of(const Variables& variables, const std::string& name);  // "" = unset

// Returns the number of nodes, `whole` / `part`. Fails if either is not above 0, or `part` does not
// divide `whole`; the error names both variables.
base::Result<int> node_count_of(std::pair<std::string_view, int> whole,
                                std::pair<std::string_view, int> part);

// Returns `count` nodes about which nothing is known but their slots.
base::Result<std::vector<Node>> nameless_nodes(int count, int slots, std::string_view where);

// Returns the nodes of --hosts, "a:8,b:8", in node-rank order. An entry without a number gets
// `slots`.
base::Result<std::vector<Node>> nodes_of_hosts_option(const Request& request, int slots);

// Returns the indexes of the nodes whose host matches a name or address of this container:
// "job-worker-0" matches "job-worker-0.job.ns.svc".
std::vector<int> nodes_like_local(const std::vector<Node>& nodes, const Inputs& inputs);

// Returns the local node: --node-rank, otherwise `index`, which comes from `source`. Fails if it is
// not below the number of nodes.
base::Result<LocalNode> local_node_by_index(std::size_t node_count, const Request& request,
                                            int index, std::string_view source);

// Returns the local node: --node-rank, otherwise the only one of nodes_like_local(). Fails if no
// node or several nodes match; `where` names the list.
base::Result<LocalNode> local_node_by_name(const std::vector<Node>& nodes, const Inputs& inputs,
                                           std::string_view where);

// Completes a cluster with the values that follow from its nodes: world_size, and the master if
// none is given. If the master of several nodes is localhost on the first one, that node's host
// name becomes the master. --master-addr and --master-port have priority.
ResolvedCluster make_resolved_cluster(Cluster cluster, LocalNode local_node, PlatformFacts platform,
                                      const Inputs& inputs);

// Locates the node by a TF_CONFIG that the platform has set. The nodes are in the order chief or
// master, worker, ps, evaluator. A node of a dynamic job sees only itself and the parameter
// servers.
Location locate_by_tf_config(const Inputs& inputs, PlatformFacts platform);

// Returns the place of a role in the order of nodes: leaders, workers, unknown roles, ps,
// evaluator.
int place_of_role(std::string_view role);

}  // namespace envgen
