#pragma once
// The policy of a job: what counts as success, and how the job is stopped, saved, restarted and
// limited. The options set the policy. The platform and the launcher adjust it
// (envgen/resolve/restart_policy.h). The lifecycle follows it. All times are milliseconds.
//
// Budget contains the points in time of a stop, computed from a policy. No other code computes
// them.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/words.h"

namespace base {

// Defines which exits of main tasks make the job a success.
enum class SuccessPolicy : unsigned char {
  kAll,    // every main task exits 0
  kFirst,  // the first main task to exit decides alone; then trainit stops the others
  kServe,  // a server: success is to die of the stop signal. If it exits earlier, its exit code
           // decides, as for kAll
};
inline constexpr Word<SuccessPolicy> kSuccessPolicies[] = {{"all", SuccessPolicy::kAll},
                                                           {"first", SuccessPolicy::kFirst},
                                                           {"serve", SuccessPolicy::kServe}};

// The processes that receive a stop signal.
enum class StopScope : unsigned char {
  kMain,   // the main processes; they stop their own data-loader workers
  kGroup,  // the process groups of the main processes
  kTree,   // every process below trainit, exactly once, also those in other sessions
};
inline constexpr Word<StopScope> kStopScopes[] = {
    {"main", StopScope::kMain}, {"group", StopScope::kGroup}, {"tree", StopScope::kTree}};

// A further signal for main tasks that still run some time after the stop signal. If that time is
// not before the KILL, the step is left out. A step with SIGKILL moves the KILL to an earlier time.
struct EscalationStep {
  int signal = 0;
  std::int64_t after_ms = 0;  // since the stop signal

  bool operator==(const EscalationStep&) const = default;
};

// The reaction if another start cannot help: the failure's cause is of that kind, or the failure
// has repeated itself.
enum class RestartVerdict : unsigned char {
  kOff,      // no reaction
  kTell,     // logs a warning, and starts the job again
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
    kSignal,      // sends the signal `to` to the job instead
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

// The signals that stop a running job if no --signal rule names them. SIGQUIT and SIGRTMIN+3
// (kRealTimeStop) are stop signals because an image inherits the STOPSIGNAL of its base image
// (nginx, systemd).
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

  // Settings of the stop.
  std::int64_t grace_ms = 8000;  // from the first stop request to the exit; Docker sends KILL after
                                 // 10 s
  std::int64_t kill_reserve_ms = 1000;  // part of grace_ms for the KILL and the time after it
  std::int64_t drain_ms = 0;      // part of grace_ms between the stop request and the stop signal
  std::int64_t pre_stop_ms = 0;   // part of grace_ms for pre-stop hooks, if there are any
  std::int64_t post_stop_ms = 0;  // part of grace_ms for post-stop hooks and processes
  std::int64_t post_stop_alone_ms = 0;  // replaces post_stop_ms in a stop without a request, if
                                        // longer
  std::int64_t failure_grace_ms = 0;  // after a failure: time from TERM to KILL for the other main
                                      // tasks, unless one of them writes; 0 = as in a stop
  StopScope stop_scope = StopScope::kMain;
  std::vector<EscalationStep> escalation = {};  // sorted by time
  std::vector<SignalRule> signals = {};
  bool second_term_kills = false;  // a second TERM kills, as a second INT does; off by default
                                   // because platforms repeat TERM

  // Settings of limits and exit codes.
  std::int64_t resolve_timeout_ms = 0;  // limit for the resolver process (then exit code 69); 0 =
                                        // no limit
  std::int64_t hold_ms = 0;             // debug window after a failure; 0 = no window
  std::int64_t max_duration_ms = 0;     // time limit of the job including restarts; 0 = no limit
  std::vector<ExitCodeRule> exit_codes = {};  // the first match applies

  // Settings of checkpoints.
  std::int64_t checkpoint_ms = 300'000;  // time limit of a checkpoint
  int checkpoint_signal = 0;             // signal that makes main tasks save; 0 = only hooks save

  // Settings of restarts.
  int max_restarts = 0;               // maximum number of restarts after failures of main tasks
  std::int64_t restart_reset_ms = 0;  // a start that ran this long resets the number of restarts; 0
                                      // = never
  std::int64_t restart_delay_ms = 1000;        // delay before the second restart; doubles with each
                                               // further failure ...
  std::int64_t restart_delay_max_ms = 60'000;  // ... up to this maximum
  std::vector<CodeRange> no_restart_on = {};   // exit codes after which a restart cannot help
  RestartVerdict restart_verdict = RestartVerdict::kOff;
  bool elastic = false;            // a changed list of nodes also causes a restart
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

// Returns a duration of a policy, limited to 0 .. 10^9 ms (eleven days). The product of two such
// durations fits into 64 bits.
std::int64_t bounded_ms(std::int64_t duration_ms);

// Minimum time in which a killed process should become reapable, even with a small reserve. After
// it the lifecycle continues without that process. A stop can contain three such waits (main tasks,
// leftovers, a post-stop task), so trainit exits at most 3 * kReapMs after the grace.
inline constexpr std::int64_t kReapMs = 200;

// The stop sequence, in order of time. r is the reserve, kill_reserve_ms:
//
//   start .. (pre-stop, drain) .. notify_at: TERM .. (escalation) .. kill_at .r/4. (given up) .r/4.
//   sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. exit_at: start + grace
//
// If less than a quarter of the grace would remain from notify_at to kill_at, the reserve and the
// shares of the hooks are scaled down.
struct Budget {
  // End of the drain: main tasks get the stop signal now if no pre-stop task runs.
  std::int64_t drained_at = 0;
  std::int64_t notify_at = 0;  // main tasks get the stop signal now, even if a pre-stop task runs
  std::int64_t kill_at = 0;    // main tasks and hooks get KILL
  std::int64_t sweep_kill_at = 0;  // services and adopted processes get KILL
  std::int64_t post_term_at = 0;   // a post-stop task that still runs gets TERM
  std::int64_t post_kill_at = 0;   // a post-stop task that still runs gets KILL
  std::int64_t exit_at = 0;        // end of the grace
  std::int64_t reap_ms = kReapMs;  // time from a KILL until a process that was not reaped is given
                                   // up
  std::int64_t term_phase_ms = 0;  // time that main tasks have at least: from notify_at to kill_at
  std::int64_t post_stop_run_ms = 0;  // time that all post-stop tasks together have at least, until
                                      // post_term_at

  bool operator==(const Budget&) const = default;
};
// States which hooks exist that need a part of the grace.
struct StopHooks {
  bool pre_stop = false;
  bool post_stop = false;
};
Budget make_budget(const Policy& policy, StopHooks hooks, std::int64_t start);
// Returns the budget with kill_at moved to `kill_at`, if that is earlier. sweep_kill_at moves by
// the same time; the times of post-stop tasks and of the exit stay.
Budget kill_sooner(Budget budget, std::int64_t kill_at);

// Returns the post_stop_ms that gives post-stop tasks `run_ms` before they get TERM.
std::int64_t post_stop_share_ms(std::int64_t run_ms);

// Returns true if a step of the escalation is due before the budget's KILL. `notified` is when the
// main tasks got the stop signal.
bool in_time(const EscalationStep& step, const Budget& budget, std::int64_t notified);

// Moves post_term_at and post_kill_at so that post-stop tasks have their full time from `now`. For
// a stop without a request, where no platform waits for the exit.
void allow_post_stop(const Policy& policy, std::int64_t now, Budget* budget);

}  // namespace base
