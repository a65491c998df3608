#pragma once
// Helpers of several platforms: numbers in variables, who of a list of nodes this container is,
// --hosts, and an injected TF_CONFIG.

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

// No node has more devices, and no job more ranks: a typo must not overflow their sum.
inline constexpr int kMaxSlots = 1024 * 1024;

struct Bounds {
  int least = 0;
  int most = std::numeric_limits<int>::max();
};
inline constexpr Bounds kPorts = {1, 65535};
inline constexpr Bounds kSlots = {0, kMaxSlots};

// Whether the user names a framework whose ranks are to be started. One who does not has the
// command run as it was typed, whatever variables there are.
bool asks_for_ranks(const Request& request);

// Whether the user says who takes part: by a rank table, --hosts, --devices, --nodes with
// --node-rank, or --nodes 1. That comes before variables that anybody may have set.
bool names_nodes(const Inputs& inputs);

// A whole number within the bounds. Nothing when the variable is unset or empty.
Result<std::optional<int>> number_in(const Inputs& inputs, std::string_view variable,
                                     Bounds bounds = {});

// Whether the text can be where the ranks of a job meet: a name or an address, without a port.
Status check_master(std::string_view address, std::string_view source);

// The same for the address that a platform told to node `node_rank` of `node_count`: the first node
// alone may be its own master by a name that every machine has.
Status check_given_master(std::string_view address, std::string_view source, int node_rank,
                          std::size_t node_count);

// Returns the domain behind this machine's name in /etc/hosts, ".service.namespace.svc.domain"; ""
// if the file does not have it. The kubelet writes "address name.service.namespace.svc.domain name"
// for a pod with a subdomain, as a StatefulSet's pods have it.
inline constexpr const char* kHostsFile = "/etc/hosts";
std::string own_domain(const PathState& hosts, std::string_view name);

// The first of `variables` that is set and not empty, with its name; two "" when none is.
struct Variable {
  std::string_view name;
  std::string_view value;
};
Variable first_set(const Inputs& inputs, std::initializer_list<std::string_view> variables);

// All variables whose names begin with `prefix`, by their names: a job of many nodes has some for
// each of them, and one lookup after the other would look through all.
using Variables = std::map<std::string_view, std::string_view>;
Variables variables_of(const Inputs& inputs, std::string_view prefix);
std::string_view value_of(const Variables& variables, const std::string& name);  // "" = unset

// `whole` / `part` nodes, where `part` divides `whole` and both are above 0. Names both variables
// in the error.
Result<int> node_count_of(std::pair<std::string_view, int> whole,
                          std::pair<std::string_view, int> part);

// Nodes of which only their number is known.
Result<std::vector<Node>> nameless_nodes(int count, int slots, std::string_view where);

// --hosts: "a:8,b:8", in node-rank order; `slots` where an entry says none.
Result<std::vector<Node>> nodes_of_hosts_option(const Request& request, int slots);

// The nodes that this container's names and addresses fit: "job-worker-0" is
// "job-worker-0.job.ns.svc". Empty when none does.
std::vector<int> nodes_like_local(const std::vector<Node>& nodes, const Inputs& inputs);

// --node-rank, else `index`, which `source` says; checked against the number of nodes.
Result<LocalNode> local_node_by_index(std::size_t node_count, const Request& request, int index,
                                      std::string_view source);

// --node-rank, else the one node of nodes_like_local. None and several are errors; `where` names
// the list.
Result<LocalNode> local_node_by_name(const std::vector<Node>& nodes, const Inputs& inputs,
                                     std::string_view where);

// Fills what follows from the nodes: world_size, and the master when nobody named one. A first node
// of several that was told localhost gets its host's name as the master. --master-addr and
// --master-port win.
ResolvedCluster make_resolved_cluster(Cluster cluster, LocalNode local_node, PlatformFacts platform,
                                      const Inputs& inputs);

// By an injected TF_CONFIG: nodes in the order chief or master, worker, ps, evaluator. A node of a
// dynamic job sees only itself and the parameter servers.
Location locate_by_tf_config(const Inputs& inputs, PlatformFacts platform);

// Where a role stands among the nodes: those who lead, then workers, unknown ones, ps, evaluator.
int place_of_role(std::string_view role);

}  // namespace envgen
