#pragma once
// Locates this container by the rank that it was given. Either the rank counts nodes, whose ranks
// trainit starts, or it counts processes, and this container is one of them. The platform decides
// which.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/platform/platform_common.h"

namespace envgen {

// The rendezvous address of the ranks, as a platform's variables give it.
struct GivenMaster {
  std::string address;  // "" = the first node's host
  std::string source;   // "MASTER_ADDR", for errors
  int port = 0;         // 0 = not given
};

// Reads MASTER_ADDR and MASTER_PORT.
base::Result<GivenMaster> given_master(const Inputs& inputs);

struct GivenNode {
  int rank = 0;
  std::string source;  // the variable, for the reason and for errors: "NODE_RANK"
};

// Locates this container as node `own` of `nodes`. A node without slots gets --slots, else
// `given_slots`, else the number of this container's devices.
Location locate_node(Inputs& inputs, std::vector<Node> nodes, const GivenNode& own,
                     GivenMaster master, PlatformFacts platform, int given_slots);

struct GivenTask {
  int rank = 0;
  int world = 1;
  int local_rank = 0;
  int each = 1;        // number of tasks of each node
  std::string source;  // the variable, for the reason and for errors: "RANK"
};

// Locates this container as one rank of `world`. The tasks of a node must have consecutive ranks.
Location locate_task(const Inputs& inputs, const GivenTask& task, GivenMaster master,
                     PlatformFacts platform);

// Returns the nodes of a batch system's list, which contains a host once for each of its slots. The
// nodes keep the order of the list.
std::vector<Node> nodes_of_slots(const std::vector<std::string>& hosts);

// Finds this node by its name in a batch system's list. The `slots` of the list count processors,
// so they are used last: --slots and the number of this container's devices have priority.
Location locate_in_batch(Inputs& inputs, std::vector<Node> nodes, std::string_view where,
                         PlatformFacts platform);

}  // namespace envgen
