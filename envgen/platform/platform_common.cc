#include "envgen/platform/platform_common.h"

#include <algorithm>
#include <set>

#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/formats/nodelist.h"
#include "envgen/formats/tfconfig.h"

namespace envgen {
namespace {

constexpr const char* kFinding = "finding this node";

struct OwnNames {
  std::set<std::string> whole;
  std::set<std::string> labels;
};

OwnNames own_names(const Inputs& inputs) {
  OwnNames names;
  std::vector<std::string> texts = {inputs.facts().host_name};
  for (const char* variable : {"HOSTNAME", "POD_NAME", "POD_IP"}) {
    texts.emplace_back(inputs.variable(variable));
  }
  texts.insert(texts.end(), inputs.facts().addresses.begin(), inputs.facts().addresses.end());
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    names.whole.insert(text);
    names.labels.emplace(label_of(text));
  }
  return names;
}

std::string names_of(const std::vector<Node>& nodes) {
  constexpr std::size_t kMax = 8;
  std::string list;
  for (std::size_t i = 0; i < nodes.size() && i < kMax; ++i) {
    list += (i == 0 ? "" : ", ") + (nodes[i].host.empty() ? "(no name)" : nodes[i].host);
  }
  if (nodes.size() > kMax) list += " and " + std::to_string(nodes.size() - kMax) + " more";
  return list;
}

// Returns a name or address by which other machines may be able to reach this one.
const std::string& name_for_others(const Facts& facts) {
  const bool named = !facts.host_name.empty() && !is_loopback(facts.host_name);
  return named || facts.addresses.empty() ? facts.host_name : facts.addresses.front();
}

}  // namespace

bool asks_for_ranks(const Request& request) {
  return !request.framework.empty() && request.framework != "single";
}

bool names_nodes(const Inputs& inputs) {
  const Request& request = inputs.request();
  const bool by_options = !request.rank_table.empty() || !request.hosts.empty() ||
                          !request.devices.empty() || (request.nodes && request.node_rank);
  return by_options || request.nodes == 1 || !rank_table_variable(inputs).name.empty();
}

base::Result<std::optional<int>> number_in(const Inputs& inputs, std::string_view variable,
                                           Bounds bounds) {
  std::string_view text = inputs.variable(variable);
  if (text.empty()) return std::nullopt;
  const auto value = base::parse_number<int>(text);
  if (!value || *value < bounds.least || *value > bounds.most) {
    std::string fix = "it has to be a whole number from " + std::to_string(bounds.least);
    if (bounds.most < std::numeric_limits<int>::max()) fix += " to " + std::to_string(bounds.most);
    return base::fail("reading the platform's variables", std::string(variable), base::quoted(text),
                      std::move(fix));
  }
  return value;
}

base::Status check_master(std::string_view address, std::string_view source) {
  const auto host = parse_host_port(address);
  if (host && host->port == 0) return {};
  return base::fail(
      "finding the master", std::string(source), base::quoted(address),
      "write one host name or address, without a port: the port has its own variable");
}

base::Status check_given_master(std::string_view address, std::string_view source, int node_rank,
                                std::size_t node_count) {
  TRY(check_master(address, source));
  if (node_rank == 0 || node_count < 2 || !is_loopback(address)) return {};
  return base::fail(
      "finding the master", std::string(source),
      std::string(address) + " on node " + std::to_string(node_rank) + " of " +
          std::to_string(node_count),
      "that is this node itself: set it to the first node's host, or say --master-addr");
}

std::string own_domain(const PathState& hosts, std::string_view name) {
  std::string_view text = hosts.content;
  while (!text.empty()) {
    std::string_view line = base::take_line(text);
    for (const std::string_view word : base::words_of(base::take_part(line, '#'))) {
      if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '.') {
        return std::string(word.substr(name.size()));
      }
    }
  }
  return "";
}

Variable first_set(const Inputs& inputs, std::initializer_list<std::string_view> variables) {
  for (std::string_view name : variables) {
    std::string_view value = inputs.variable(name);
    if (!value.empty()) return {name, value};
  }
  return {};
}

Variable rank_table_variable(const Inputs& inputs) {
  return first_set(inputs, {"RANK_TABLE_FILE", "RANK_TABLE_FILE_V_1_0"});
}

Variables variables_of(const Inputs& inputs, std::string_view prefix) {
  Variables variables;
  for (const std::string_view entry : inputs.env().entries()) {
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(prefix) || equals == std::string_view::npos) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string_view value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : found->second;
}

base::Result<int> node_count_of(std::pair<std::string_view, int> whole,
                                std::pair<std::string_view, int> part) {
  auto [whole_name, all] = whole;
  auto [part_name, each] = part;
  if (all < 1 || each < 1 || all % each != 0) {
    return base::fail(
        "counting the nodes", std::string(whole_name) + " and " + std::string(part_name),
        std::to_string(all) + " and " + std::to_string(each),
        "the first has to be a multiple of the second: every node runs as many ranks");
  }
  return all / each;
}

base::Result<std::vector<Node>> nameless_nodes(int count, int slots, std::string_view where) {
  if (count < 1 || static_cast<std::size_t>(count) > kMaxHosts) {
    return base::fail("counting the nodes", std::string(where), std::to_string(count) + " nodes",
                      "a job has from 1 to " + std::to_string(kMaxHosts));
  }
  Node node;
  node.slots = slots;
  return std::vector<Node>(static_cast<std::size_t>(count), node);
}

base::Result<std::vector<Node>> nodes_of_hosts_option(const Request& request, int slots) {
  auto hosts = parse_host_list(request.hosts, "--hosts");
  if (!hosts) {
    // The number that is a port in other lists is a number of ranks here.
    base::Error error = std::move(hosts.error());
    error.fix =
        "write each node once, host or host:slots: a:8,b:8, an IPv6 address with slots "
        "in [brackets]";
    return std::unexpected(std::move(error));
  }
  std::vector<Node> nodes;
  std::set<std::string> seen;
  for (const HostPort& host : *hosts) {
    if (!seen.insert(host.host).second) {
      return base::fail("reading the hosts", "--hosts", host.host + " twice",
                        "name each node once, with its slots behind a colon");
    }
    Node node;
    node.host = host.host;
    node.slots = host.port == 0 ? slots : host.port;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty())
    return base::fail("reading the hosts", "--hosts", "none", "name them: a:8,b:8");
  if (request.nodes && *request.nodes != static_cast<int>(nodes.size())) {
    return base::fail("reading the hosts", "--hosts and --nodes",
                      std::to_string(nodes.size()) + " hosts and " + std::to_string(*request.nodes),
                      "leave --nodes away");
  }
  return nodes;
}

std::vector<int> nodes_like_local(const std::vector<Node>& nodes, const Inputs& inputs) {
  OwnNames own = own_names(inputs);
  std::vector<int> by_whole;
  std::vector<int> by_label;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].host.empty()) continue;
    if (own.whole.contains(nodes[i].host)) by_whole.push_back(static_cast<int>(i));
    if (own.labels.contains(std::string(label_of(nodes[i].host)))) {
      by_label.push_back(static_cast<int>(i));
    }
  }
  return by_whole.empty() ? by_label : by_whole;
}

base::Result<LocalNode> local_node_by_index(std::size_t node_count, const Request& request,
                                            int index, std::string_view source) {
  std::string_view where = request.node_rank ? "--node-rank" : source;
  int rank = request.node_rank.value_or(index);
  if (rank < 0 || static_cast<std::size_t>(rank) >= node_count) {
    return std::unexpected(base::Error{
        .what = kFinding,
        .where = std::string(where),
        .found = std::to_string(rank) + " in a job of " + std::to_string(node_count) + " nodes",
        .fix = "node ranks go from 0 to " + std::to_string(node_count - 1),
        .not_listed = rank >= 0});
  }
  return LocalNode{rank, request.node_rank ? "--node-rank says so"
                                           : std::string(where) + " is " + std::to_string(index)};
}

base::Result<LocalNode> local_node_by_name(const std::vector<Node>& nodes, const Inputs& inputs,
                                           std::string_view where) {
  if (inputs.request().node_rank)
    return local_node_by_index(nodes.size(), inputs.request(), 0, where);
  std::vector<int> ranks = nodes_like_local(nodes, inputs);
  const std::string& own = inputs.facts().host_name;
  if (ranks.size() == 1) {
    const std::string& host = nodes[static_cast<std::size_t>(ranks[0])].host;
    return LocalNode{ranks[0], host + " is this container's name or address"};
  }
  std::string found = ranks.empty()
                          ? "nothing that is called " + (own.empty() ? "like this host" : own) +
                                "; it has " + names_of(nodes)
                          : std::to_string(ranks.size()) + " entries that this container could be";
  return std::unexpected(base::Error{.what = kFinding,
                                     .where = std::string(where),
                                     .found = std::move(found),
                                     .fix = "say which one with --node-rank",
                                     .not_listed = ranks.empty()});
}

ResolvedCluster make_resolved_cluster(Cluster cluster, LocalNode local_node, PlatformFacts platform,
                                      const Inputs& inputs) {
  const Request& request = inputs.request();
  std::int64_t ranks = 0;  // 64 bits, because the resolver refuses too many ranks only later
  const Node* first = nullptr;
  for (const Node& node : cluster.nodes) {
    ranks += node.slots;
    if (first == nullptr && node.slots > 0) first = &node;
  }
  cluster.world_size =
      static_cast<int>(std::min<std::int64_t>(ranks, std::numeric_limits<int>::max()));
  // The first node may have its own loopback name as the master. The other nodes cannot use it.
  if (local_node.node_rank == 0 && cluster.nodes.size() > 1 && is_loopback(cluster.master_addr)) {
    Node& own = cluster.nodes[0];
    if (own.host.empty() || is_loopback(own.host)) own.host = name_for_others(inputs.facts());
    cluster.master_addr = own.host;
  }
  if (cluster.master_addr.empty() && first != nullptr) cluster.master_addr = first->host;
  if (!request.master_addr.empty()) cluster.master_addr = request.master_addr;
  if (request.master_port) cluster.master_port = *request.master_port;
  ResolvedCluster resolved;
  resolved.cluster = std::move(cluster);
  resolved.local_node = std::move(local_node);
  resolved.platform = std::move(platform);
  return resolved;
}

int place_of_role(std::string_view role) {
  constexpr std::string_view kLeaders[] = {"master", "chief", "launcher"};
  if (std::ranges::find(kLeaders, role) != std::end(kLeaders)) return 0;
  if (role == "worker") return 1;
  if (role == "ps") return 3;
  return role == "evaluator" ? 4 : 2;
}

namespace {

base::Result<std::vector<Node>> nodes_of_tf_config(const TfConfig& config) {
  std::vector<Node> nodes;
  for (const auto& [role, tasks] : config.cluster) {
    for (const auto& [index, text] : tasks) {
      auto host = parse_host_port(text);
      if (!host || host->port == 0) {
        return base::fail("reading TF_CONFIG",
                          "cluster." + role + "[" + std::to_string(index) + "]", base::quoted(text),
                          "write host:port, an IPv6 address in [brackets]");
      }
      Node node;
      node.host = host->host;
      node.port = host->port;
      node.role = role;
      node.role_index = index;
      node.slots = tf_ranks(role);
      nodes.push_back(std::move(node));
    }
  }
  base::stable_sort(nodes, std::less(), [](const Node& node) { return place_of_role(node.role); });
  return nodes;
}

// Locates a job without a cluster, for TensorFlow's "{}".
Location located_alone(PlatformFacts platform, const Inputs& inputs) {
  Node node;
  node.slots = 1;
  Cluster cluster;
  cluster.nodes.push_back(std::move(node));
  auto local_node = local_node_by_index(1, inputs.request(), 0, "TF_CONFIG");
  if (!local_node) return local_node.error();
  if (!inputs.request().node_rank) local_node->reason = "TF_CONFIG has no cluster: one node";
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), std::move(platform),
                               inputs);
}

}  // namespace

Location locate_by_tf_config(const Inputs& inputs, PlatformFacts platform) {
  platform.tf_config = std::string(inputs.variable("TF_CONFIG"));
  platform.framework = "tensorflow";
  platform.framework_reason = "TF_CONFIG is set";
  auto config = parse_tf_config(platform.tf_config, "TF_CONFIG");
  if (!config) return config.error();
  if (config->cluster.empty()) return located_alone(std::move(platform), inputs);
  platform.tf_index_text = config->index_text;
  auto nodes = nodes_of_tf_config(*config);
  if (!nodes) return nodes.error();

  std::vector<std::size_t> same_role;
  std::optional<std::size_t> own;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    if ((*nodes)[i].role != config->type) continue;
    same_role.push_back(i);
    if ((*nodes)[i].role_index == config->index) own = i;
  }
  // In a dynamic job, a ps lists only itself, at place 0, whatever its index is.
  if (!own && config->sparse && same_role.size() == 1) {
    own = same_role[0];
    (*nodes)[*own].role_index = config->index;
  }
  // The cluster of a TF_CONFIG need not contain the evaluator itself.
  if (!own && config->type == "evaluator") {
    Node node;
    node.role = "evaluator";
    node.role_index = config->index;
    own = nodes->size();
    nodes->push_back(std::move(node));
  }
  std::string task = config->type + " " + std::to_string(config->index);
  if (!own) {
    return base::Error{kFinding, "TF_CONFIG", "task " + task + ", which its cluster does not have",
                       "task.index has to be a place in cluster." + config->type};
  }
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  cluster.master_port = cluster.nodes[0].port;
  LocalNode local_node{static_cast<int>(*own), "TF_CONFIG says " + task};
  if (inputs.request().node_rank && *inputs.request().node_rank != local_node.node_rank) {
    auto asked = local_node_by_index(cluster.nodes.size(), inputs.request(), 0, "");
    if (!asked) return asked.error();
    local_node = std::move(*asked);
    const Node& node = cluster.nodes[static_cast<std::size_t>(local_node.node_rank)];
    config->type = node.role;
    config->index = node.role_index;
    platform.tf_config = render_tf_config(*config);
  }
  return make_resolved_cluster(std::move(cluster), std::move(local_node), std::move(platform),
                               inputs);
}

}  // namespace envgen
