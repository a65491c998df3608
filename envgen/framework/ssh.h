#pragma once
// sshd between the nodes of a job, as MPI and DeepSpeed launchers need it: which service runs on
// which node, how the launcher reaches it, who waits for whom, who ends whom. The programs behind
// it are `trainit peer serve|session|end` (init/cli/commands_peer.cc).
//
// --ssh-key FILE: `peer serve` and `peer end` are given FILE itself; the client is always given
// DIR/key (`-i DIR/key -o IdentitiesOnly=yes`), the 0600 copy that `peer serve` makes on every node
// of the job, the launcher's too. The client refuses a mounted secret of mode 0644. Until the copy
// is there a probe fails and is asked again.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

struct SshSetup {
  int port = 22;
  std::string key;                     // "" = the client's default keys
  std::string directory;               // RUN_DIR/ssh
  std::vector<std::string> arguments;  // of the ssh client, for all nodes: -p, -i, options

  // The arguments in one line, as the variables of the launchers hold them: nothing unquotes it.
  [[nodiscard]] std::string argument_line() const;
};

// --ssh-port, else 22 for root and 2222 for others; --ssh-key.
Result<SshSetup> ssh_setup(const Inputs& inputs);

// The node that launches: the one with the role "launcher", else the first.
int launching_node(const Cluster& cluster);

// The hosts of all nodes but `self`. An error when one has no name.
Result<std::vector<std::string>> other_hosts(const Cluster& cluster, int self);

// The sshd of a node that also runs a launcher: a service beside the main task.
void add_sshd_service(const Inputs& inputs, const SshSetup& setup, Plan& plan,
                      const char* name = "sshd");

// A worker: its main task is the sshd, which ends when the launcher says with which code, when no
// launcher came within --launcher-timeout, or when it is stopped.
void serve_as_worker(const Inputs& inputs, const SshSetup& setup, Plan& plan);

// Whether the plan is a worker's.
bool is_worker(const Plan& plan);

// On the launcher's node: wait until each of `hosts` answers; after the job tell them its exit
// code.
void wait_for_and_end_workers(const Inputs& inputs, const SshSetup& setup,
                              const std::vector<std::string>& hosts, Plan& plan);

// The stop of the launcher's node, its stop request at 0, before wait_for_and_end_workers() has
// planned it; on a worker's node too.
Budget launching_stop_budget(const Plan& plan);

// With plan.link, where node 0 is the launcher's: the workers hear the end by it, and those are not
// called.
void tell_workers_by_link(const Inputs& inputs, const Cluster& cluster, Plan& plan);

// Ranks and processes of whoever started this container ("srun trainit", an mpirun around it): a
// process that finds another MPI's rank believes to be it.
std::span<const std::string_view> stale_launch_variables();

// Unsets those and rank_variables(): who a process is comes from the launcher that starts it.
void unset_stale_launch(const Inputs& inputs, Plan& plan);

// Inside a Slurm allocation OpenMPI and Hydra would start their daemons with srun, and OpenMPI
// would start them on the allocation's nodes instead of the hostfile's.
void keep_launchers_from_slurm(const Inputs& inputs, Plan& plan);

}  // namespace envgen
