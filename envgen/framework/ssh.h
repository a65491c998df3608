#pragma once
// Plans the sshd between the nodes of a job, for MPI and DeepSpeed launchers: which service runs on
// which node, how the launcher reaches it, which node waits, and which node ends the others. The
// programs are `trainit peer serve|session|end` (init/cli/commands_peer.cc).
//
// --ssh-key FILE: the ssh client refuses a mounted secret of mode 0644. So `peer serve` makes a
// copy with mode 0600, DIR/key, on every node of the job, also on the launcher's. The client always
// gets the copy (`-i DIR/key -o IdentitiesOnly=yes`), while `peer serve` and `peer end` get FILE
// itself. Until the copy exists, a probe fails and is repeated.

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
  std::string key;                     // file of the private key; "": the client's default keys
  std::string directory;               // RUN_DIR/ssh
  std::vector<std::string> arguments;  // options for the ssh client to all nodes: -p, -i, -o

  // Returns the arguments joined by blanks, without quotes, as launchers expect them in variables.
  [[nodiscard]] std::string argument_line() const;
};

// Returns the setup from --ssh-key and --ssh-port; the default port is 22 for root and 2222 for
// other users. Fails with --user, without a run directory, or if a path has blanks or quotes.
base::Result<SshSetup> ssh_setup(const Inputs& inputs);

// Returns the rank of the node that runs the launcher: the one with the role "launcher", otherwise
// the first.
int launching_node(const Cluster& cluster);

// Returns the hosts of all nodes except `self`. Fails if a node has no host name.
base::Result<std::vector<std::string>> other_hosts(const Cluster& cluster, int self);

// Adds the sshd to a node that also runs a launcher: a service beside the main task.
void add_sshd_service(const Inputs& inputs, const SshSetup& setup, Plan& plan,
                      const char* name = "sshd");

// Makes this node a worker, whose main task is the sshd. The sshd exits with the exit code that the
// launcher sends. It also exits if no launcher connects within --launcher-timeout, or if it is
// stopped.
void serve_as_worker(const Inputs& inputs, const SshSetup& setup, Plan& plan);

// Returns true if the plan is that of a worker (serve_as_worker()).
bool is_worker(const Plan& plan);

// Makes the launcher's node wait until the sshd of each of `hosts` answers. After the job, this
// node sends the job's exit code to each of them.
void wait_for_and_end_workers(const Inputs& inputs, const SshSetup& setup,
                              const std::vector<std::string>& hosts, Plan& plan);

// Returns the budget of a stop on the launcher's node; the stop request is at 0. Can be called
// before wait_for_and_end_workers(), and on a worker's node.
base::Budget launching_stop_budget(const Plan& plan);

// Makes the launcher's node report the end of the job over the link, if the plan has one and the
// launcher runs on node 0. A worker that has received it there is not called through ssh.
void tell_workers_by_link(const Inputs& inputs, const Cluster& cluster, Plan& plan);

// Returns the names of variables that a launcher sets which has started this container ("srun
// trainit", an mpirun around it). A process that finds the rank of another MPI would use it.
std::span<const std::string_view> stale_launch_variables();

// Unsets stale_launch_variables() and rank_variables(), because a process gets its rank from the
// launcher that starts it.
void unset_stale_launch(const Inputs& inputs, Plan& plan);

// Makes launchers ignore Slurm. In a Slurm allocation OpenMPI and Hydra would start their daemons
// with srun, and OpenMPI would use the allocation's nodes instead of the hostfile's.
void keep_launchers_from_slurm(const Inputs& inputs, Plan& plan);

}  // namespace envgen
