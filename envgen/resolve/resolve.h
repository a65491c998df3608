#pragma once
// The path from a snapshot to a plan, in two steps that can be repeated: a platform locates the
// nodes and which one this is, then the processes to start are planned. `Pending` is an answer,
// because a rank table may be incomplete when the container starts.

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
  Plan plan;         // platform, framework, policy and the open wait; no processes
  std::string path;  // file that is not ready
  std::string why;   // reason why it cannot be used yet: `status is "initializing"`
};
struct TableMemo;
using Outcome = std::variant<Planned, Pending, base::Error>;

struct Answer {
  Outcome outcome;
  // Paths that the answer needs and the snapshot lacks. If not empty, the outcome is provisional:
  // look at the paths and call resolve() again.
  std::vector<Want> wants;
};

// Returns the same answer for the same snapshot and request. Pure. `memo`
// (envgen/platform/table_location.h) serves consecutive calls with one snapshot, to which paths are
// only added. With it no rank table is read twice.
Answer resolve(const Snapshot& snapshot, const Request& request, TableMemo* memo = nullptr);

// Returns true if only argv and the environment decide the plan: no platform is detected, there is
// one process, and no file to read. PID 1 may then plan without a resolver child. PID 1 calls this
// function, so it parses no format of a platform. The caller must know that kHooksDirectory
// (envgen/resolve/hooks.h) does not exist.
bool is_pass_through(const base::Environ& env, const Request& request);

}  // namespace envgen
