#pragma once
// The way from a snapshot to a plan, in two steps that can be repeated: resolve (who are the nodes,
// which one is this) and make_plan (what to start). Pending is an answer: a rank table may not be
// complete when the container starts.

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
  std::string path;  // what is waited for
  std::string why;   // why it cannot be used yet: `status is "initializing"`
};
struct TableMemo;
using Outcome = std::variant<Planned, Pending, Error>;

struct Answer {
  Outcome outcome;
  // Paths the answer would have used but the snapshot does not hold. Not empty: look at them, ask
  // again; the outcome is then provisional.
  std::vector<Want> wants;
};

// Pure and repeatable: the same snapshot and request give the same answer. `memo`
// (envgen/platform/table_location.h) is for one answer after the other about one snapshot, to which
// is only added: no rank table is read twice then.
Answer resolve(const Snapshot& snapshot, const Request& request, TableMemo* memo = nullptr);

// True when nothing outside argv and the environment decides the plan: no platform is seen, one
// process, nothing to read. PID 1 may then plan by itself, without a resolver child. Parses no
// format of a platform: PID 1 calls it. That there is no kHooksDirectory (envgen/resolve/hooks.h)
// is the caller's to know.
bool is_pass_through(const Environ& env, const Request& request);

}  // namespace envgen
