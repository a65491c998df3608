#pragma once
// The two meanings of a rank that this container was given. It may count nodes, whose ranks trainit
// starts, or processes, of which this container is one. A platform decides which.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/platform/platform_common.h"

namespace envgen {

// The rendezvous address of the ranks, as a variable gives it.
struct GivenMaster {
  std::string address;  // "" = the first node's host
  std::string source;   // "MASTER_ADDR", for errors
  int port = 0;         // 0 = not given
};

// Reads MASTER_ADDR and MASTER_PORT.
base::Result<GivenMaster> given_master(const Inputs& inputs);

struct GivenNode {
  int rank = 0;
  std::string source;  // "NODE_RANK", for the reason and for errors
};

// Locates this container as node `own` of `nodes`. A node without slots gets --slots, else
// `given_slots`, else the number of this container's devices.
Location locate_node(Inputs& inputs, std::vector<Node> nodes, const GivenNode& own,
                     GivenMaster master, PlatformFacts platform, int given_slots);

struct GivenTask {
  int rank = 0;
  int world = 1;
  int local_rank = 0;
  int each = 1;        // tasks of each node
  std::string source;  // "RANK", for the reason and for errors
};

// Locates this container as one rank of `world`. The tasks of a node have consecutive ranks.
Location locate_task(const Inputs& inputs, const GivenTask& task, GivenMaster master,
                     PlatformFacts platform);

// Returns the nodes of a batch system's list, which repeats a host for each of its slots. The nodes
// have the order of the list.
std::vector<Node> nodes_of_slots(const std::vector<std::string>& hosts);

// Finds this node in a batch system's list by its name. The list's `slots` count processors and are
// the last choice: --slots and this container's devices have priority.
Location locate_in_batch(Inputs& inputs, std::vector<Node> nodes, std::string_view where,
                         PlatformFacts platform);

}  // namespace envgen
