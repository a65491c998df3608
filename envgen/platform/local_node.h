#pragma once
// Finds the local node: which node of a rank table this container is.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/request.h"

namespace envgen {

// Names and addresses of this container, each with the variable it comes from.
// recognise_local_node() compares them with the table in this order.
struct LocalNodeHints {
  struct Hint {
    std::string source;  // "MA_CURRENT_INSTANCE_NAME", "host name", "an interface address"
    std::string value;
    bool definite = false;  // the platform's own name for this pod: if the table lacks it, that is
                            // an error
  };
  std::vector<Hint> pod_names;
  std::vector<Hint> container_ips;
  std::vector<Hint> host_ips;
  std::vector<Hint> server_ids;
};

// Finds the node by --node-rank, RANK_START, pod name, container address, host address or
// server_id, in this order. Never assumes the first node, unless the table has only one.
base::Result<LocalNode> recognise_local_node(const std::vector<Node>& nodes, const Request& request,
                                             const std::optional<int>& rank_start,
                                             const LocalNodeHints& hints);

}  // namespace envgen
