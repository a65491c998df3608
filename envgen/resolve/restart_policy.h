#pragma once
// Plans how a job restarts:
// - which processes get the signal of a checkpoint
// - whether this node may restart its ranks alone
// - which devices other processes must release before a restart
// - at which address the nodes meet before each start
// - which files with the list of nodes are watched

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

// Returns the policy of a job as far as the command line and the environment decide it. PID 1 uses
// it until there is a plan, whose policy is made from it. Parses no format of a platform.
base::Policy policy_of(const base::Environ& env, const Request& request);

// The address at which the ranks of a job rendezvous, as far as the platform and the command line
// give it.
struct RendezvousAddress {
  std::string address;  // "" = not known
  int port = 0;         // default if no source gives it
  bool port_given = false;
};
RendezvousAddress rendezvous_address(const Request& request, const ResolvedCluster& resolved);

// The containers of a job of which each ends when another one ends. Each of them has its own
// trainit.
struct Participants {
  int rank = 0;
  int count = 1;
};
Participants participants_of(const ResolvedCluster& resolved);

// Returns true if all nodes run ranks. With parameter servers not all do, and each worker is
// independent of the others.
bool ranks_everywhere(const ResolvedCluster& resolved, const Plan& plan);

// Returns why a cluster of `nodes` nodes is too small for --min-nodes; nullopt if it is not.
std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes);

// Adds the files that contain the list of nodes to plan.waits, for --elastic. Warns if only
// variables contain the list, because they never change.
void add_membership_watch(const Request& request, const std::set<std::string>& files, Plan& plan);

// Completes plan.policy and fills plan.device_wait. Must run after the launcher and find_hooks().
void plan_restart_policy(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
