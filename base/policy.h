#pragma once
// The policy of a job: what counts as success, and how the job is stopped, saved, restarted and
// limited. The options set it, platform and launcher adjust it (envgen/resolve/restart_policy.h),
// and the lifecycle follows it. All times are milliseconds.
//
// Budget contains the instants of a stop that follow from a policy. No other code derives them.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/words.h"

namespace base {

// The exits of main tasks that make the job a success.
enum class SuccessPolicy : unsigned char {
  kAll,    // every main task exits 0
  kFirst,  // the first main task to exit decides alone; then trainit stops the others
  kServe,  // a server: to die of the stop signal is a success. If it exits earlier, its exit code
           // decides, as for kAll
};
inline constexpr Word<SuccessPolicy> kSuccessPolicies[] = {{"all", SuccessPolicy::kAll},
                                                           {"first", SuccessPolicy::kFirst},
                                                           {"serve", SuccessPolicy::kServe}};

// The processes that receive a stop signal.
enum class StopScope : unsigned char {
  kMain,   // the main processes; they stop their own data-loader workers
  kGroup,  // the process groups of the main processes
  kTree,   // each process below trainit, once, whatever its session
};
inline constexpr Word<StopScope> kStopScopes[] = {
    {"main", StopScope::kMain}, {"group", StopScope::kGroup}, {"tree", StopScope::kTree}};

// A further signal to main tasks that still run after the stop signal. A step whose time is at the
// KILL or later is left out. A step with SIGKILL is the KILL, at an earlier time.
struct EscalationStep {
  int signal = 0;
  std::int64_t after_ms = 0;  // since the stop signal

  bool operator==(const EscalationStep&) const = default;
};

// The reaction if a restart cannot help, because of the failure's cause or its repetition.
enum class RestartVerdict : unsigned char {
  kOff,      // no reaction
  kTell,     // logs it and starts the job again
  kEnforce,  // ends the job
};

// Maps an exit code of the job in first .. last to the container's exit code `to`.
struct ExitCodeRule {
  int first = 0;
  int last = 0;
  int to = 0;

  bool operator==(const ExitCodeRule&) const = default;
};

// A range of exit codes, both ends included.
struct CodeRange {
  int first = 0;
  int last = 0;

  bool operator==(const CodeRange&) const = default;
};

// The reaction to a signal that trainit receives (--signal).
struct SignalRule {
  enum class Kind : unsigned char {
    kSignal,      // sends `to` to the job instead
    kCheckpoint,  // asks the job for a checkpoint, then ends it with exit code 75
    kFile,        // creates the file `path` or sets its mtime: a trigger that the job polls
    kNothing,     // drops the signal
    kForward,     // only sends the signal to the job: a stop signal then stops nothing
  };
  int from = 0;
  Kind kind = Kind::kSignal;
  int to = 0;
  std::string path = {};

  bool operator==(const SignalRule&) const = default;
};

// The signals that stop a running job if no rule says otherwise. QUIT and SIGRTMIN+3 can arrive
// because an image inherits the STOPSIGNAL of its base image (nginx, systemd).
inline constexpr int kRealTimeStop = 37;
inline constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGQUIT, kRealTimeStop};

void fields(FieldVisitor& v, EscalationStep& step);
void fields(FieldVisitor& v, ExitCodeRule& rule);
void fields(FieldVisitor& v, CodeRange& range);
void fields(FieldVisitor& v, SignalRule& rule);

bool asks_for_checkpoint(const std::vector<SignalRule>& rules);

// Returns the container's exit code for the job's exit code `code`.
int given_code(const std::vector<ExitCodeRule>& rules, int code);

struct Policy {
  SuccessPolicy success = SuccessPolicy::kAll;

  // The stop.
  std::int64_t grace_ms = 8000;         // first stop request to exit; Docker sends KILL after 10 s
  std::int64_t kill_reserve_ms = 1000;  // part of grace_ms for KILL and what follows it
  std::int64_t drain_ms = 0;            // part of grace_ms from a stop request to the stop signal
  std::int64_t pre_stop_ms = 0;         // part of grace_ms for pre-stop hooks, if there are any
  std::int64_t post_stop_ms = 0;        // part of grace_ms for post-stop hooks and processes
  std::int64_t post_stop_alone_ms = 0;  // used without a stop request if longer than post_stop_ms
  std::int64_t failure_grace_ms = 0;  // after a failure: time from TERM to KILL for the other main
                                      // tasks, unless one of them writes; 0 = as in a stop
  StopScope stop_scope = StopScope::kMain;
  std::vector<EscalationStep> escalation = {};  // sorted by time
  std::vector<SignalRule> signals = {};
  bool second_term_kills = false;  // a second TERM kills, as a second INT does; off by default
                                   // because platforms repeat TERM

  // Limits and exit.
  std::int64_t resolve_timeout_ms = 0;  // limit of a hanging resolver (code 69); 0 = no limit
  std::int64_t hold_ms = 0;             // debug window after a failure; 0 = no window
  std::int64_t max_duration_ms = 0;     // time limit of the job including restarts; 0 = no limit
  std::vector<ExitCodeRule> exit_codes = {};  // the first match applies

  // Checkpoint and continue.
  std::int64_t checkpoint_ms = 300'000;  // time limit of a checkpoint
  int checkpoint_signal = 0;             // signal for the main tasks; 0 = only hooks save

  // Restarts.
  int max_restarts = 0;                  // limit for restarts after failures of main tasks
  std::int64_t restart_reset_ms = 0;     // a start that ran this long resets the count; 0 = never
  std::int64_t restart_delay_ms = 1000;  // before the second restart; doubled at each failure ...
  std::int64_t restart_delay_max_ms = 60'000;  // ... up to this limit
  std::vector<CodeRange> no_restart_on = {};   // failures that a restart cannot repair
  RestartVerdict restart_verdict = RestartVerdict::kOff;
  bool elastic = false;            // also restarts when the list of nodes changes
  std::int64_t rendezvous_ms = 0;  // how long the nodes wait for each other before each start (then
                                   // exit code 69); 0 = no wait

  bool operator==(const Policy&) const = default;
};
inline void fields(FieldVisitor& v, Policy& policy) {
  v("success", policy.success, SuccessPolicy::kServe);
  v("grace_ms", policy.grace_ms);
  v("kill_reserve_ms", policy.kill_reserve_ms);
  v("drain_ms", policy.drain_ms);
  v("pre_stop_ms", policy.pre_stop_ms);
  v("post_stop_ms", policy.post_stop_ms);
  v("post_stop_alone_ms", policy.post_stop_alone_ms);
  v("failure_grace_ms", policy.failure_grace_ms);
  v("stop_scope", policy.stop_scope, StopScope::kTree);
  v("escalation", policy.escalation);
  v("signals", policy.signals, {.most_items = 64});
  v("second_term_kills", policy.second_term_kills);
  v("resolve_timeout_ms", policy.resolve_timeout_ms);
  v("hold_ms", policy.hold_ms);
  v("max_duration_ms", policy.max_duration_ms);
  v("exit_codes", policy.exit_codes);
  v("checkpoint_ms", policy.checkpoint_ms);
  v("checkpoint_signal", policy.checkpoint_signal, {.least = 0, .most = 64});
  v("max_restarts", policy.max_restarts, {.least = 0, .most = 1'000'000});
  v("restart_reset_ms", policy.restart_reset_ms);
  v("restart_delay_ms", policy.restart_delay_ms);
  v("restart_delay_max_ms", policy.restart_delay_max_ms);
  v("no_restart_on", policy.no_restart_on);
  v("restart_verdict", policy.restart_verdict, RestartVerdict::kEnforce);
  v("elastic", policy.elastic);
  v("rendezvous_ms", policy.rendezvous_ms);
}

// Returns a duration of a policy, limited to 0 to eleven days. The product of two then stays below
// 2^63.
std::int64_t bounded_ms(std::int64_t duration_ms);

// Time limit to reap a killed process, however small the reserve is. Afterwards the lifecycle
// continues without it. The limit can apply three times (main tasks, leftovers, a post-stop task),
// so the exit is at most 3 * kReapMs after the grace.
inline constexpr std::int64_t kReapMs = 200;

// The stop sequence, in the order of time; r is the reserve:
//
//   start .. (pre-stop, drain) .. notify_at: TERM .. (escalation) .. kill_at .r/4. (given up) .r/4.
//   sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. exit_at: start + grace
//
// Shares that would leave the TERM phase less than a quarter of the grace are scaled down.
struct Budget {
  std::int64_t drained_at = 0;  // main tasks get the stop signal, unless pre-stop tasks still run
  std::int64_t notify_at = 0;   // main tasks get the stop signal at the latest
  std::int64_t kill_at = 0;     // main tasks and hooks get KILL
  std::int64_t sweep_kill_at = 0;     // services and adopted processes get KILL
  std::int64_t post_term_at = 0;      // a post-stop task that still runs gets TERM
  std::int64_t post_kill_at = 0;      // a post-stop task that still runs gets KILL
  std::int64_t exit_at = 0;           // end of the grace
  std::int64_t reap_ms = kReapMs;     // time between KILL and giving up
  std::int64_t term_phase_ms = 0;     // minimum time of the main tasks: notify_at to kill_at
  std::int64_t post_stop_run_ms = 0;  // minimum time of all post-stop tasks, to post_term_at

  bool operator==(const Budget&) const = default;
};
// The kinds of hooks that need a part of the grace.
struct StopHooks {
  bool pre_stop = false;
  bool post_stop = false;
};
Budget make_budget(const Policy& policy, StopHooks hooks, std::int64_t start);
// Returns the budget with the KILL at `kill_at` if that is earlier. What follows the KILL moves
// with it; post-stop tasks and the exit keep their times.
Budget kill_sooner(Budget budget, std::int64_t kill_at);

// Returns the post_stop_ms of a policy that gives post-stop tasks `run_ms` before their TERM.
std::int64_t post_stop_share_ms(std::int64_t run_ms);

// Returns true if a step of the escalation comes before the regular KILL. `notified` is when the
// main tasks got the stop signal.
bool in_time(const EscalationStep& step, const Budget& budget, std::int64_t notified);

// Gives post-stop tasks their full time from `now`. Used without a stop request, when no platform
// waits for the exit.
void allow_post_stop(const Policy& policy, std::int64_t now, Budget* budget);

}  // namespace base
