#pragma once
// `trainit status --cluster`: all nodes of a job, as its node 0 knows them, asked from the link's
// worker of this node by RUN_DIR/link, a socket that only root and the user of the instance may
// use. The question is "nodes" and a newline. The answer is a line of JSON a node and an empty
// line, or what came until then and {"error": "..."}.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace engine {

// A line of JSON each.
struct NodeRow {
  std::uint32_t node = 0;
  std::string name;
  std::string presence;  // never, here, away, lost, gone
  std::string phase;
  std::uint32_t ranks = 0;      // that live
  std::int64_t silent_ms = -1;  // since its ranks' last output; -1: not known
  std::uint32_t restarts = 0;
  std::int64_t heard_ms_ago = -1;  // over the link; -1: never
  std::string failure;             // "": none

  bool operator==(const NodeRow&) const = default;
};
inline void fields(envgen::FieldVisitor& v, NodeRow& row) {
  v("node", row.node);
  v("name", row.name, {.omit = true, .may_miss = true});
  v("presence", row.presence);
  v("phase", row.phase, {.omit = true, .may_miss = true});
  v("ranks", row.ranks);
  v("silent_ms", row.silent_ms, {.null = -1});
  v("restarts", row.restarts);
  v("heard_ms_ago", row.heard_ms_ago, {.null = -1});
  v("failure", row.failure, {.omit = true, .may_miss = true});
}

inline constexpr const char* kLinkSocketName = "link";  // in the run directory
inline constexpr int kLinkStatusMs = 10'000;

envgen::Result<std::vector<NodeRow>> ask_nodes(const std::string& socket_path,
                                               int timeout_ms = kLinkStatusMs);

std::string nodes_to_text(const std::vector<NodeRow>& rows);  // a table, and what has failed
std::string nodes_to_json(const std::vector<NodeRow>& rows);  // {"nodes": [...]}
// Some node has failed, is lost or has never come.
bool all_well(const std::vector<NodeRow>& rows);

}  // namespace engine
