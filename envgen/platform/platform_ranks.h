#pragma once
// The two readings of a rank that somebody told this container: it counts nodes, whose ranks are
// ours to start, or processes, of which this container is one. A platform says which.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/platform/platform_common.h"

namespace envgen {

// Where the ranks meet, as a variable says it.
struct GivenMaster {
  std::string address;  // "" = the first node's host
  std::string source;   // "MASTER_ADDR", for errors
  int port = 0;         // 0 = not told
};

// MASTER_ADDR and MASTER_PORT.
Result<GivenMaster> given_master(const Inputs& inputs);

struct GivenNode {
  int rank = 0;
  std::string source;  // "NODE_RANK", for the reason and for errors
};

// This is node `own` of `nodes`. One of them without slots has --slots, else `given_slots`, else as
// many as this container has devices.
Location locate_node(Inputs& inputs, std::vector<Node> nodes, const GivenNode& own,
                     GivenMaster master, PlatformFacts platform, int given_slots);

struct GivenTask {
  int rank = 0;
  int world = 1;
  int local_rank = 0;
  int each = 1;        // tasks of a node
  std::string source;  // "RANK", for the reason and for errors
};

// This container is one rank of `world`: the tasks of a node follow one another.
Location locate_task(const Inputs& inputs, const GivenTask& task, GivenMaster master,
                     PlatformFacts platform);

// The hosts of a batch system's list, which has each once for each of its slots: a node for each,
// in the order of the list, with as many slots.
std::vector<Node> nodes_of_slots(const std::vector<std::string>& hosts);

// This node of a batch system's list, by its name. `slots` of the list count processors where
// nothing else is known: --slots and this container's devices win.
Location locate_in_batch(Inputs& inputs, std::vector<Node> nodes, std::string_view where,
                         PlatformFacts platform);

}  // namespace envgen
