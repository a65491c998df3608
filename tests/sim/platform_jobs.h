#pragma once
// Simulated jobs: what each platform injects into each container of a job, written down from the
// platforms' documents and sources, without any code of envgen. The simulation resolves them for
// all nodes, the golden tests for the first and the last.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace sim {

// What one node's container shows. A path that is not in `paths` does not exist; a parent of one
// that is there is a writable directory.
struct Container {
  envgen::Snapshot snapshot;  // paths: what resolve() has looked at so far
  std::map<std::string, envgen::PathState> paths;
};

struct Job {
  std::string name;       // "vk-horovod"
  std::string platform;   // that it is recognised as
  std::string framework;  // that it uses
  int nodes = 2;
  int slots = 8;       // per node that runs ranks
  int rank_nodes = 2;  // nodes that run ranks
  std::function<Container(int node)> container;
  bool task_per_rank = false;        // each container is one rank already; `nodes` counts them
  bool typed = false;                // the command starts a launcher by itself
  bool workers_know_cluster = true;  // else only node 0 is told who the others are
};

// Every platform with every framework that makes sense there. A job that its platform could not
// start at this size (a variable takes at most 128 KiB) is left out.
std::vector<Job> simulated_jobs(int nodes, int slots);
const Job& job_named(const std::vector<Job>& jobs, const std::string& name);

envgen::PathState file_of(std::string content);
envgen::PathState directory_of();

// Asks resolve() until it has seen all it wants; the options come from snapshot.argv and environ.
envgen::Outcome resolve(Container& container);

// One job as its nodes see it: a variable of a container.
void set_variable(Container& container, const std::string& name, const std::string& value);
void unset_variable(Container& container, const std::string& name);

}  // namespace sim
