#pragma once
// Makes a plan from a snapshot. First a platform finds the nodes, and which of them this one is.
// Then the processes to start are planned. Both steps can be repeated: a rank table may be
// incomplete when the container starts, and the answer is then `Pending`.

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"

namespace envgen {

struct Planned {
  Plan plan;
};
struct Pending {
  Plan plan;         // platform, framework, policy and the open wait, but no processes
  std::string path;  // the file that is not ready
  std::string why;   // why the file cannot be used yet: `status is "initializing"`
};
struct TableMemo;
using Outcome = std::variant<Planned, Pending, base::Error>;

struct Answer {
  Outcome outcome;
  // Paths that the answer needs and the snapshot lacks. If not empty, the outcome is provisional:
  // look at the paths and call resolve() again.
  std::vector<Want> wants;
};

// Computes the answer. The same snapshot and request always give the same answer. Pure. `memo`
// (envgen/platform/table_location.h) can be kept for consecutive calls with one snapshot to which
// only paths are added. With it, no rank table is read twice.
Answer resolve(const Snapshot& snapshot, const Request& request, TableMemo* memo = nullptr);

// Returns true if argv and the environment alone decide the plan: no platform is detected, there is
// one process, and no file must be read. PID 1 may then make the plan itself, without a resolver
// child. PID 1 calls this function, so it parses no format of a platform. Before the call, the
// caller must have checked that kHooksDirectory (envgen/resolve/hooks.h) does not exist.
bool is_pass_through(const base::Environ& env, const Request& request);

}  // namespace envgen
