#pragma once
// The meeting of a job's nodes before they start again. After a failure its nodes end one by one,
// minutes apart: one that started at once would join the dead incarnation, or wait in vain. They
// meet at the job's own master port: node 0 listens there, which shows that nothing of the last
// incarnation does any more, and lets go of it before it says "go". Node 0 greets first, so that
// whatever else listens there gets no byte from us.
//
// It orders starts; it is no lock: a network that fails in the very moment of the "go" can part
// the nodes, and the frameworks' own time-outs then end those that started.

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"

namespace engine {

struct Meeting {
  envgen::Rendezvous place;
  std::vector<std::string> names;  // of the nodes, by rank
  std::uint64_t cluster = 0;       // common_id of the list of nodes
  std::uint32_t restarts = 0;      // of this node, the one ahead included
  std::int64_t deadline_ms = 0;    // monotonic; place.window_ms is only told
};

struct Met {
  std::uint32_t restarts = 0;  // the most of any node: one may have failed twice
};
struct ClusterChanged {};  // resolve again
struct MeetingFailed {
  int exit_code = 125;  // 124: not all came within the window
  envgen::Error error;
};
using MeetingEnd = std::variant<Met, ClusterChanged, MeetingFailed>;

// Blocks until all nodes are there, or `changed`, which is asked once a second, says that the list
// of nodes is another one. A node with another list is told so and not counted; both go on looking,
// as one of them may see the new list later. `say` is told what is waited for when that changes,
// once in two seconds at most. `env`: of the program that resolves the first node's name.
MeetingEnd meet(const Meeting& meeting, const envgen::Environ& env,
                const std::function<void(const std::string&)>& say,
                const std::function<bool()>& changed);

}  // namespace engine
