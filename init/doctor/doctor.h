#pragma once
// Checks of the machine that a job is to run on: devices, limits, disks, network, kernel. Each one
// runs in a forked child with a deadline of its own, all at the same time, so that a hanging mount,
// driver or name server costs one finding and no more than the deadline. Blocks until all have
// answered: for commands and workers, never for PID 1.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/doctor/check_result.h"

namespace doctor {

struct Peer {
  std::string host;  // a name or an address
  int port = 0;      // one that a live host answers, be it with a refusal; 0 = not known
};

enum class Occasion : std::uint8_t {
  kAsked,      // trainit doctor
  kPreflight,  // before a job: the other nodes may not be up yet
  kPatrol,     // while a job runs: its own processes are on the devices
};

// What the checks go by; a default one is a machine without a job.
struct Context {
  envgen::Environ env = {};  // of the job
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
  std::vector<Peer> peers = {};                    // the other nodes
  std::vector<envgen::ResourceLimit> limits = {};  // that the job gets instead of ours
  std::string root = {};                           // before /dev, /proc, /sys, /etc: tests' trees
  // Of each check. nvidia-smi alone may take 15 s where no persistence daemon runs.
  std::int64_t limit_ms = 30'000;
};

// Of a plan, PID 1's decoded one included. `env` is the environment that its edits are applied to.
Context context_of(const envgen::Plan& plan, const envgen::Environ& env);

struct Check {
  std::string_view name;
  std::string_view help;
  std::vector<envgen::CheckResult> (*run)(const Context& context);
};
std::span<const Check> all_checks();

// Names of checks, separated by commas; refuses one that is none. "" = none.
envgen::Result<std::vector<std::string>> parse_check_names(std::string_view list);

// The checks in `only`, or all where it is empty, in the table's order; at least one result each.
std::vector<envgen::CheckResult> run_checks(const std::vector<std::string>& only,
                                            const Context& context);

}  // namespace doctor
