#pragma once
// How a job is stopped, saved, restarted and limited: what PID 1 goes by once it has a plan, and
// before it as far as the command line says it.

#include <cstdint>
#include <vector>

#include "envgen/plan/request.h"

namespace envgen {

enum class Success : unsigned char { kAll, kFirst, kServe };

struct PlanPolicy {
  Success success = Success::kAll;
  std::int64_t grace_ms = 8000;
  std::int64_t rank_table_timeout_ms = 0;
  std::int64_t hold_ms = 0;
  std::int64_t post_stop_ms = 0;  // of a stop's grace, kept for post_stop and post-stop hooks
  std::int64_t script_timeout_ms = 60'000;  // of `scripts`, together; the resolver's, not PID 1's
  StopScope stop_scope = StopScope::kMain;
  std::vector<Escalation> escalation;
  std::vector<ExitCodeRule> exit_codes;
  std::vector<SignalRule> signals;
  bool second_term_kills = false;
  std::int64_t drain_ms = 0;       // of the grace, from the stop request to the stop signal
  std::int64_t pre_stop_ms = 0;    // of a stop's grace, for all pre-stop hooks
  std::int64_t checkpoint_ms = 0;  // what a checkpoint is granted
  int checkpoint_signal = 0;       // 0 = none: hooks save
  int max_restarts = 0;            // after failures; 0 also where they are not possible
  std::int64_t restart_delay_ms = 1000;
  std::int64_t restart_least_ms = 0;  // what devices need between two processes
  std::vector<CodeRange> no_restart_on;
  bool elastic = false;              // watch the list of nodes
  std::int64_t max_duration_ms = 0;  // 0 = none

  bool operator==(const PlanPolicy&) const = default;
};

// What the container ends with where the job ended with `code`.
int given_code(const std::vector<ExitCodeRule>& rules, int code);

}  // namespace envgen
