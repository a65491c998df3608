#pragma once
// What of a job's course hangs on its plan: whom a checkpoint's signal reaches, whether this node
// may restart its processes by itself, where the nodes meet before each start, what is watched.

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/site.h"

namespace envgen {

// Where the ranks of a job meet, as far as the platform and the command line say it.
struct Meeting {
  std::string address;  // "" = not known
  int port = 0;         // the default where nobody told it
  bool port_told = false;
};
Meeting meeting_of(const Request& request, const Located& located);

// Why a cluster of so many nodes is not enough for --min-nodes; nothing where it is.
std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes);

// Names the files that the list of nodes was read from, for --elastic; warns where it stands in
// variables alone, which never change.
void add_watches(const Request& request, const std::set<std::string>& files, Plan& plan);

// Fills in plan.policy and plan.rendezvous; after the launcher, and after find_hooks().
void plan_course(const Inputs& inputs, const Located& located, Plan& plan);

}  // namespace envgen
