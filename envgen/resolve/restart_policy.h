#pragma once
// The restart policy of a job. It decides about:
// - The processes that a checkpoint's signal reaches.
// - Restarts that this node may do on its own.
// - The devices that other processes must release before a restart.
// - The rendezvous address of the nodes before each start.
// - The files with the list of nodes that are watched.

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
// it before there is a plan, and the plan's policy starts with it. Parses no format.
base::Policy policy_of(const base::Environ& env, const Request& request);

// The address at which the ranks of a job rendezvous, as far as the platform and the command line
// give it.
struct RendezvousAddress {
  std::string address;  // "" = not known
  int port = 0;         // default if no source gives it
  bool port_given = false;
};
RendezvousAddress rendezvous_address(const Request& request, const ResolvedCluster& resolved);

// The containers of a job that end when one of them ends. Each has its own trainit.
struct Participants {
  int rank = 0;
  int count = 1;
};
Participants participants_of(const ResolvedCluster& resolved);

// Returns whether all nodes run ranks. With parameter servers it is false: each worker is
// independent.
bool ranks_everywhere(const ResolvedCluster& resolved, const Plan& plan);

// Returns why a cluster of `nodes` nodes is not enough for --min-nodes; nothing if it is enough.
std::optional<Wait> too_few_nodes(const Request& request, std::size_t nodes);

// Adds the files that contain the list of nodes to plan.waits, for --elastic. Warns if the list is
// only in variables, which never change.
void add_membership_watch(const Request& request, const std::set<std::string>& files, Plan& plan);

// Completes plan.policy and fills plan.device_wait. Must run after the launcher and find_hooks().
void plan_restart_policy(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
