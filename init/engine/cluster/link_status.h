#pragma once
// The client side of `trainit status --cluster`, which shows all nodes of a job as node 0 knows
// them. It asks this node's link worker through the socket RUN_DIR/link. Only root and the user of
// the instance may use that socket.
//
// The request is "nodes" and a newline. The answer is one line of JSON for each node, and an empty
// line. If the worker cannot get all rows, {"error": "..."} follows the rows sent until then.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace engine {

// The knowledge of node 0 about one node. On the socket it is one line of JSON.
struct NodeRow {
  std::uint32_t node = 0;
  std::string name;
  // "never-connected", "connected", "reconnecting", "lost" or "left"
  std::string connection;
  // The earlier words for `connection`, for scripts that read them: never, here, away, lost, gone.
  std::string presence;
  std::string phase;
  std::uint32_t ranks = 0;  // number of ranks that run
  // Time from the last output of its ranks to its last heartbeat; -1: unknown.
  std::int64_t silent_ms = -1;
  std::uint32_t restarts = 0;
  std::int64_t heard_ms_ago = -1;  // time since its last message to node 0; -1: never
  std::string failure;             // message of the node's failure; "": none

  bool operator==(const NodeRow&) const = default;
};
inline void fields(base::FieldVisitor& v, NodeRow& row) {
  v("node", row.node);
  v("name", row.name, {.omit = true, .may_miss = true});
  v("connection", row.connection);
  v("presence", row.presence);
  v("phase", row.phase, {.omit = true, .may_miss = true});
  v("ranks", row.ranks);
  v("silent_ms", row.silent_ms, {.null = -1});
  v("restarts", row.restarts);
  v("heard_ms_ago", row.heard_ms_ago, {.null = -1});
  v("failure", row.failure, {.omit = true, .may_miss = true});
}

inline constexpr const char* kLinkSocketName = "link";  // name of the socket in the run directory
inline constexpr int kLinkStatusMs = 10'000;

base::Result<std::vector<NodeRow>> ask_nodes(const std::string& socket_path,
                                             int timeout_ms = kLinkStatusMs);

std::string nodes_to_text(const std::vector<NodeRow>& rows);  // a table, and then the failures
std::string nodes_to_json(const std::vector<NodeRow>& rows);  // {"nodes": [...]}
// True if the node is connected or has sent its leave message.
bool is_present(const NodeRow& row);
bool is_lost(const NodeRow& row);
// True if no node has failed, and is_present() is true for each.
bool all_well(const std::vector<NodeRow>& rows);

}  // namespace engine
