#pragma once
// The local node: which node of a rank table this container is.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/request.h"

namespace envgen {

// What this container is called, by which variable; tried in this order against the table.
struct LocalNodeHints {
  struct Hint {
    std::string source;  // "MA_CURRENT_INSTANCE_NAME", "host name", "an interface address"
    std::string value;
    bool definite = false;  // the platform's own name of this pod: the table must have it
  };
  std::vector<Hint> pod_names;
  std::vector<Hint> container_ips;
  std::vector<Hint> host_ips;
  std::vector<Hint> server_ids;
};

// By --node-rank, RANK_START, pod name, container address, host address, server_id; never "the
// first" unless there is only one.
Result<LocalNode> recognise_local_node(const std::vector<Node>& nodes, const Request& request,
                                       const std::optional<int>& rank_start,
                                       const LocalNodeHints& hints);

}  // namespace envgen
