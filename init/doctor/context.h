#pragma once
// The input of the checks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/sandbox.h"

namespace doctor {

struct OtherNode {
  std::string host;  // name or address
  int port = 0;  // a port where a running host answers, even if only with a refusal; 0 = unknown
};

enum class Occasion : std::uint8_t {
  kAsked,      // the user runs `trainit doctor`
  kPreflight,  // before a job, when other nodes may not have started yet
  kMonitor,    // during a job, whose own processes use the devices
};

// The job, as far as the checks know it. With the default values, they check a machine without a
// job.
struct Context {
  base::Environ env = {};    // environment of the job
  base::Environ start = {};  // environment of trainit; for tools, which run with its rights
  Occasion occasion = Occasion::kAsked;
  std::string run_dir = {};
  std::string work_dir = {};
  std::string log_dir = {};
  std::vector<std::string> datasets = {};  // paths that must be mounted read-only
  std::string plan_fault = {};  // why the job cannot be planned, so that it would fail; "" = it can
  std::string pending = {};     // the path that the plan waits for, and why; "" = no wait
  std::string rank_table = {};  // content of the rank table
  std::vector<int> devices = {};  // physical ids of this node's devices in the plan
  int ranks = 0;                  // ranks on this node; 0 = unknown
  std::vector<OtherNode> other_nodes = {};
  std::uint64_t tasks = 0;  // number of tasks in the cgroup before the checks started theirs; 0 =
                            // unknown
  std::vector<envgen::ResourceLimit> limits = {};  // limits that the job gets; for others it has
                                                   // trainit's
  std::string root = {};  // prefix of /dev, /proc, /sys and /etc; "" except in tests
  // Time limit for each check. nvidia-smi alone can take 15 s if the persistence daemon does not
  // run.
  std::int64_t limit_ms = 30'000;
};

}  // namespace doctor
