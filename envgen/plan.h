#pragma once
// What run will do, as a value: printed by `trainit plan`, executed by `trainit run`, compared by
// tests. Nothing in it depends on when it is made.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/cluster.h"
#include "envgen/environ.h"
#include "envgen/result.h"

namespace envgen {

struct PlannedFile {
  std::string path;
  std::uint32_t mode = 0644;
  std::string content;

  bool operator==(const PlannedFile&) const = default;
};

struct PlannedDirectory {
  std::string path;
  bool clean = false;  // emptied first

  bool operator==(const PlannedDirectory&) const = default;
};

struct Process {
  std::string name;  // "rank-3", "main"
  int rank = -1;     // job-wide; -1 for a process that is none
  int device = -1;   // physical id of its device, -1 without one
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<EnvEdit> env;
  std::string log;       // stdout and stderr go there; "" = inherited
  std::string env_file;  // its environment is saved there; "" = no

  bool operator==(const Process&) const = default;
};

// A wait that has to end before the job can be planned.
struct Wait {
  std::string path;
  std::string why;  // why it is not over yet; "" when it is
  std::int64_t timeout_ms = 0;

  bool operator==(const Wait&) const = default;
};

enum class Success : unsigned char { kAll, kFirst, kServe };

struct PlanPolicy {
  Success success = Success::kAll;
  std::int64_t grace_ms = 8000;
  std::int64_t rank_table_timeout_ms = 0;
  std::int64_t hold_ms = 0;

  bool operator==(const PlanPolicy&) const = default;
};

struct Plan {
  std::string platform;
  std::string platform_reason;
  std::string framework;
  std::optional<Cluster> cluster;  // nothing while pending, and for a job of one node without one
  std::optional<Self> self;
  int node_count = 1;
  int world_size = 1;
  std::vector<PlannedDirectory> directories;
  std::vector<PlannedFile> files;
  std::vector<Process> processes;
  PlanPolicy policy;
  std::vector<Wait> waits;
  std::vector<std::string> warnings;

  bool operator==(const Plan&) const = default;
};

// The object that `trainit plan --json` prints: platform, framework, cluster, self, files,
// processes, services, hooks, data, policy, waits, warnings. `base` is the environment that the
// edits are applied to; values of secret-looking variables are masked.
std::string plan_to_json(const Plan& plan, const Environ& base);

// The same for a person.
std::string plan_to_text(const Plan& plan, const Environ& base);

// The part of a plan that PID 1 needs, as flat bytes: the resolver child has done the rest.
// Integers are 32-bit little endian (64-bit for times), a text is its length and its bytes, a list
// its count and its items.
std::string encode_plan(const Plan& plan);
// Refuses what is cut, overlong, or not ours; never reads outside `bytes`.
Result<Plan> decode_plan(std::string_view bytes);

}  // namespace envgen
