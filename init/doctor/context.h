#pragma once
// The context that the checks go by.

#include <cstdint>
#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/sandbox.h"

namespace doctor {

struct OtherNode {
  std::string host;  // a name or an address
  int port = 0;      // one that a live host answers, be it with a refusal; 0 = not known
};

enum class Occasion : std::uint8_t {
  kAsked,      // trainit doctor
  kPreflight,  // before a job: the other nodes may not be up yet
  kMonitor,    // while a job runs: its own processes are on the devices
};

// The context of the checks; a default one is a machine without a job.
struct Context {
  envgen::Environ env = {};    // of the job
  envgen::Environ start = {};  // of trainit: for the tools, which have its rights
  Occasion occasion = Occasion::kAsked;
  std::string run_dir = {};
  std::string work_dir = {};
  std::string log_dir = {};
  std::vector<std::string> datasets = {};          // that have to be mounted read-only
  std::string plan_fault = {};                     // why there is no plan: the job would fail
  std::string pending = {};                        // what the plan waits for
  std::string rank_table = {};                     // its text
  std::vector<int> devices = {};                   // physical ids that the plan uses on this node
  int ranks = 0;                                   // of this node; 0 = not known
  std::vector<OtherNode> other_nodes = {};         // the other nodes
  std::uint64_t tasks = 0;                         // of the cgroup before the checks; 0: not known
  std::vector<envgen::ResourceLimit> limits = {};  // that the job gets instead of ours
  std::string root = {};                           // before /dev, /proc, /sys, /etc: tests' trees
  // Of each check. nvidia-smi alone may take 15 s where no persistence daemon runs.
  std::int64_t limit_ms = 30'000;
};

}  // namespace doctor
