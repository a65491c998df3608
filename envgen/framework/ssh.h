#pragma once
// The sshd between the nodes of a job, for MPI and DeepSpeed launchers. This unit plans which
// service runs on which node, how the launcher reaches it, which node waits, and which node ends
// the others. The programs are `trainit peer serve|session|end` (init/cli/commands_peer.cc).
//
// --ssh-key FILE: `peer serve` and `peer end` get FILE itself. The client always gets DIR/key
// (`-i DIR/key -o IdentitiesOnly=yes`), a copy with mode 0600, because it refuses a mounted secret
// of mode 0644. `peer serve` makes the copy on every node of the job, also on the launcher's. Until
// the copy exists, a probe fails and is repeated.

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
  std::string key;                     // "": the client's default keys
  std::string directory;               // RUN_DIR/ssh
  std::vector<std::string> arguments;  // options of the ssh client for all nodes: -p, -i, -o

  // Returns the arguments in one line, as launchers expect them in variables: without quoting.
  [[nodiscard]] std::string argument_line() const;
};

// Returns the setup from --ssh-key and --ssh-port; the default port is 22 for root and 2222 for
// other users. Fails with --user, without a run directory, or if a path has blanks or quotes.
base::Result<SshSetup> ssh_setup(const Inputs& inputs);

// Returns the node that launches: the one with the role "launcher", otherwise the first.
int launching_node(const Cluster& cluster);

// Returns the hosts of all nodes except `self`. Fails if a node has no host name.
base::Result<std::vector<std::string>> other_hosts(const Cluster& cluster, int self);

// Adds the sshd of a node that also runs a launcher, as a service beside the main task.
void add_sshd_service(const Inputs& inputs, const SshSetup& setup, Plan& plan,
                      const char* name = "sshd");

// Makes the node a worker: its main task is the sshd. The sshd ends with the exit code that the
// launcher sends. It also ends if no launcher connects within --launcher-timeout, or when it is
// stopped.
void serve_as_worker(const Inputs& inputs, const SshSetup& setup, Plan& plan);

// Returns true if the plan is a worker's.
bool is_worker(const Plan& plan);

// Makes the launcher's node wait until each of `hosts` answers, and send them the job's exit code
// after the job.
void wait_for_and_end_workers(const Inputs& inputs, const SshSetup& setup,
                              const std::vector<std::string>& hosts, Plan& plan);

// Returns the stop budget of the launcher's node, with the stop request at 0. Can be called before
// wait_for_and_end_workers(), and on a worker's node.
base::Budget launching_stop_budget(const Plan& plan);

// If the plan has a link and node 0 is the launcher's, sends the end of the job over the link.
// Workers that receive it there are not called through ssh.
void tell_workers_by_link(const Inputs& inputs, const Cluster& cluster, Plan& plan);

// Returns the variables of a launcher that started this container ("srun trainit", an mpirun around
// it). A process that finds another MPI's rank would use that rank.
std::span<const std::string_view> stale_launch_variables();

// Unsets these variables and rank_variables(): a process gets its rank from the launcher that
// starts it.
void unset_stale_launch(const Inputs& inputs, Plan& plan);

// Prevents launchers from using Slurm. In a Slurm allocation OpenMPI and Hydra would start their
// daemons with srun, and OpenMPI would use the allocation's nodes instead of the hostfile's.
void keep_launchers_from_slurm(const Inputs& inputs, Plan& plan);

}  // namespace envgen
