#pragma once
// The restart policy of a job: whom a checkpoint's signal reaches, whether this node may restart
// its processes by itself, which devices others have to let go of before it does, where the nodes
// meet before each start, which files of the list of nodes are watched.

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "base/environ.h"
#include "base/policy.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// The policy of a job, as far as the command line and the environment alone decide it: what PID 1
// goes by before there is a plan, and what the plan's begins with. Parses no format.
Policy policy_of(const Environ& env, const Request& request);

// Where the ranks of a job meet, as far as the platform and the command line say it.
struct RendezvousAddress {
  std::string address;  // "" = not known
  int port = 0;         // the default where nobody told it
  bool port_given = false;
};
RendezvousAddress rendezvous_address(const Request& request, const ResolvedCluster& resolved);

// The containers of a job that end when one of them ends: each has its own trainit.
struct Participants {
  int rank = 0;
  int count = 1;
};
Participants participants_of(const ResolvedCluster& resolved);

// All nodes run ranks. Behind parameter servers each worker is for itself.
bool ranks_everywhere(const ResolvedCluster& resolved, const Plan& plan);

// Why a cluster of so many nodes is not enough for --min-nodes; nothing where it is.
std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes);

// Names the files that the list of nodes was read from, for --elastic; warns where it stands in
// variables alone, which never change.
void add_membership_watch(const Request& request, const std::set<std::string>& files, Plan& plan);

// Completes plan.policy and fills in plan.device_wait; after the launcher, and after find_hooks().
void plan_restart_policy(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
