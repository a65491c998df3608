#include "envgen/platform/local_node.h"

#include <algorithm>

namespace envgen {
namespace {

using Hint = LocalNodeHints::Hint;

constexpr std::size_t kMaxNamesInError = 8;

std::vector<int> matching(const std::vector<Node>& nodes, std::string Node::* field,
                          const std::string& value) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!value.empty() && nodes[i].*field == value) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

// Returns the table's names of its nodes, for the error about a node that it lacks.
std::string names_in_table(const std::vector<Node>& nodes) {
  std::string list;
  for (std::size_t i = 0; i < nodes.size() && i < kMaxNamesInError; ++i) {
    if (!list.empty()) list += ", ";
    list += nodes[i].pod_name.empty() ? "server " + nodes[i].server_id
                                      : "pod " + nodes[i].pod_name + " on " + nodes[i].server_id;
  }
  if (nodes.size() > kMaxNamesInError) {
    list += " and " + std::to_string(nodes.size() - kMaxNamesInError) + " more";
  }
  return list;
}

std::string names_of_self(const LocalNodeHints& hints) {
  std::vector<std::string> seen;
  std::string list;
  for (const auto* kind :
       {&hints.pod_names, &hints.container_ips, &hints.host_ips, &hints.server_ids}) {
    for (const Hint& hint : *kind) {
      std::string text = hint.source + " " + hint.value;
      if (hint.value.empty() || std::ranges::find(seen, text) != seen.end()) continue;
      if (!list.empty()) list += ", ";
      list += text;
      seen.push_back(std::move(text));
    }
  }
  return list.empty() ? "no name or address" : list;
}

base::Result<LocalNode> by_node_rank(const std::vector<Node>& nodes, int node_rank) {
  if (node_rank < 0 || static_cast<std::size_t>(node_rank) >= nodes.size()) {
    return std::unexpected(
        base::Error{.what = "finding this node",
                    .where = "--node-rank",
                    .found = std::to_string(node_rank),
                    .fix = "use a node rank from 0 to " + std::to_string(nodes.size() - 1),
                    .not_listed = node_rank >= 0});
  }
  return LocalNode{node_rank, "--node-rank says so"};
}

base::Result<LocalNode> by_rank_start(const std::vector<Node>& nodes, int rank_start) {
  std::string starts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    int first = std::ranges::min(nodes[i].devices, {}, &Device::rank).rank;
    if (first == rank_start) {
      return LocalNode{static_cast<int>(i), "RANK_START is " + std::to_string(rank_start)};
    }
    if (i < kMaxNamesInError) starts += (i == 0 ? "" : ", ") + std::to_string(first);
  }
  if (nodes.size() > kMaxNamesInError) starts += ", ...";
  return base::fail("finding this node", "RANK_START", std::to_string(rank_start),
                    "use the first rank of a node: " + starts);
}

std::unexpected<base::Error> not_in_table(const std::vector<Node>& nodes,
                                          const LocalNodeHints& hints) {
  return std::unexpected(
      base::Error{.what = "finding this node in the rank table",
                  .where = names_of_self(hints),
                  .found = "no entry for this node; the table has " + names_in_table(nodes),
                  .fix = "is it the table of another job? Say which entry this is with --node-rank",
                  .not_listed = true});
}

}  // namespace

base::Result<LocalNode> recognise_local_node(const std::vector<Node>& nodes, const Request& request,
                                             const std::optional<int>& rank_start,
                                             const LocalNodeHints& hints) {
  if (request.node_rank) return by_node_rank(nodes, *request.node_rank);
  if (rank_start) return by_rank_start(nodes, *rank_start);

  const struct {
    const std::vector<Hint>& values;
    std::string Node::* field;
    const char* name;
  } kinds[] = {{hints.pod_names, &Node::pod_name, "pod_name"},
               {hints.container_ips, &Node::container_ip, "container_ip"},
               {hints.host_ips, &Node::host_ip, "host_ip"},
               {hints.server_ids, &Node::server_id, "server_id"}};
  // If the platform has named this pod and the table contains other names, the table is stale: even
  // if it has a single entry, and even if an address matches by chance.
  const bool named = std::ranges::any_of(hints.pod_names, &Hint::definite);
  const bool table_names_pods =
      std::ranges::any_of(nodes, [](const Node& node) { return !node.pod_name.empty(); });
  std::string ambiguous;
  for (const auto& kind : kinds) {
    if (kind.field != &Node::pod_name && named && table_names_pods)
      return not_in_table(nodes, hints);
    for (const Hint& hint : kind.values) {
      std::vector<int> ranks = matching(nodes, kind.field, hint.value);
      if (ranks.size() == 1) {
        return LocalNode{ranks[0],
                         std::string(kind.name) + " " + hint.value + " is " + hint.source};
      }
      if (ranks.size() > 1 && ambiguous.empty()) {
        ambiguous = std::to_string(ranks.size()) + " entries with " + kind.name + " " + hint.value;
      }
    }
  }
  if (!ambiguous.empty()) {
    return base::fail("finding this node in the rank table", names_of_self(hints), ambiguous,
                      "say which one this is with --node-rank or RANK_START");
  }
  if (nodes.size() == 1) return LocalNode{0, "it is the only one"};
  return not_in_table(nodes, hints);
}

}  // namespace envgen
