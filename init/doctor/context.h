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
  int port = 0;      // a port for which a live host sends an answer, even a refusal; 0 = unknown
};

enum class Occasion : std::uint8_t {
  kAsked,      // trainit doctor
  kPreflight,  // before a job: other nodes may not be up yet
  kMonitor,    // during a job: its own processes use the devices
};

// The input of the checks. A default value is a machine without a job.
struct Context {
  base::Environ env = {};    // environment of the job
  base::Environ start = {};  // environment of trainit, for the tools, which have its rights
  Occasion occasion = Occasion::kAsked;
  std::string run_dir = {};
  std::string work_dir = {};
  std::string log_dir = {};
  std::vector<std::string> datasets = {};  // must be mounted read-only
  std::string plan_fault = {};             // error of planning: the job would fail
  std::string pending = {};                // the path that the plan waits for, and why
  std::string rank_table = {};             // content of the rank table
  std::vector<int> devices = {};           // physical ids of this node's devices in the plan
  int ranks = 0;                           // ranks on this node; 0 = unknown
  std::vector<OtherNode> other_nodes = {};
  std::uint64_t tasks = 0;  // tasks in the cgroup before the checks; 0 = unknown
  std::vector<envgen::ResourceLimit> limits = {};  // limits that the job gets instead of trainit's
  std::string root = {};  // prefix of /dev, /proc, /sys and /etc, for tests
  // Time limit of each check. nvidia-smi alone can take 15 s without the persistence daemon.
  std::int64_t limit_ms = 30'000;
};

}  // namespace doctor
