#pragma once
// The policy of a job: when it counts as a success, and how it is stopped, saved, restarted and
// limited. The options fill it in, platform and launcher adjust it
// (envgen/resolve/restart_policy.h), the lifecycle goes by it. All times are milliseconds.
//
// Budget has the instants of a stop that follow from a policy. No other code derives them.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace envgen {

// Which endings of main tasks make the job a success.
enum class SuccessPolicy : unsigned char {
  kAll,    // every main task exits 0
  kFirst,  // the first main task alone decides; when it ends the others are stopped
  kServe,  // it serves until it is told to stop, and to die of that signal is then a success.
           // Before that as kAll: a server that ends by itself fails only by its code
};

// Whom a stop signal goes to.
enum class StopScope : unsigned char {
  kMain,   // the main processes: their data-loader workers are theirs to stop
  kGroup,  // the main processes' groups
  kTree,   // each process below us, once, whatever its session
};

// A further signal to the main tasks that live on although they were told to stop. One whose time
// comes at the KILL or after it is left out; a step that is SIGKILL is the KILL, come early.
struct EscalationStep {
  int signal = 0;
  std::int64_t after_ms = 0;  // since they were told

  bool operator==(const EscalationStep&) const = default;
};

// What is done where a restart cannot help, by the failure's cause or its repetition.
enum class RestartVerdict : unsigned char {
  kOff,      // nothing
  kTell,     // it is said, and the job starts again
  kEnforce,  // the job ends
};

// The container ends with `to` where the job ended with one of first .. last.
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

// What a signal that trainit receives becomes (--signal).
struct SignalRule {
  enum class Kind : unsigned char {
    kSignal,      // the job is sent `to` instead
    kCheckpoint,  // the job is asked for a checkpoint and then ended, with exit code 75
    kFile,        // the file `path` is made, or its mtime set: a trigger that the job polls for
    kNothing,     // it is dropped
    kForward,     // the job is sent it, and nothing else: a stop signal then stops nothing
  };
  int from = 0;
  Kind kind = Kind::kSignal;
  int to = 0;
  std::string path = {};

  bool operator==(const SignalRule&) const = default;
};

// The signals that stop a job that runs, where no rule says otherwise. QUIT and SIGRTMIN+3 come of
// a STOPSIGNAL that an image has from its base (nginx, systemd).
inline constexpr int kRealTimeStop = 37;
inline constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGQUIT, kRealTimeStop};

void fields(FieldVisitor& v, EscalationStep& step);
void fields(FieldVisitor& v, ExitCodeRule& rule);
void fields(FieldVisitor& v, CodeRange& range);
void fields(FieldVisitor& v, SignalRule& rule);

bool asks_for_checkpoint(const std::vector<SignalRule>& rules);

// What the container ends with where the job ended with `code`.
int given_code(const std::vector<ExitCodeRule>& rules, int code);

struct Policy {
  SuccessPolicy success = SuccessPolicy::kAll;

  // The stop.
  std::int64_t grace_ms = 8000;         // from the first stop request to the exit; Docker kills
                                        // 10 s after its TERM
  std::int64_t kill_reserve_ms = 1000;  // of the grace, for KILL and what follows it
  std::int64_t drain_ms = 0;            // of the grace, from a stop request to the stop signal
  std::int64_t pre_stop_ms = 0;         // of the grace, for pre-stop hooks, where there are any
  std::int64_t post_stop_ms = 0;        // of the grace, for post-stop hooks and processes
  std::int64_t post_stop_alone_ms = 0;  // the same where nobody waits for the end, when more
  StopScope stop_scope = StopScope::kMain;
  std::vector<EscalationStep> escalation = {};  // by time
  std::vector<SignalRule> signals = {};
  bool second_term_kills = false;  // as a second INT does; platforms repeat their TERM

  // The end.
  std::int64_t resolve_timeout_ms = 0;        // of a resolver that hangs; 0 = none. Ends with 69
  std::int64_t hold_ms = 0;                   // the debug window after a failure; 0 = none
  std::int64_t max_duration_ms = 0;           // of the job, restarts included; 0 = none
  std::vector<ExitCodeRule> exit_codes = {};  // the first that fits counts

  // Checkpoint and continue.
  std::int64_t checkpoint_ms = 300'000;  // what a checkpoint is granted
  int checkpoint_signal = 0;             // to the main tasks; 0 = none: hooks save

  // Restarts.
  int max_restarts = 0;                        // after failures of main tasks
  std::int64_t restart_reset_ms = 0;           // they count anew after a start that ran so long;
                                               // 0 = never
  std::int64_t restart_delay_ms = 1000;        // of the second; doubled at each failure ...
  std::int64_t restart_delay_max_ms = 60'000;  // ... up to this
  std::vector<CodeRange> no_restart_on = {};   // failures that a restart does not mend
  RestartVerdict restart_verdict = RestartVerdict::kOff;
  bool elastic = false;            // also when the list of nodes changes
  std::int64_t rendezvous_ms = 0;  // before each start the nodes wait so long for one another;
                                   // 0 = they do not. Ends with 69

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

// A duration of a policy as the lifecycle counts with it: 0 to eleven days, so that products of two
// stay below 2^63.
std::int64_t bounded_ms(std::int64_t duration_ms);

// A killed process is given this long to be reaped, however small the reserve; then the lifecycle
// goes on without it. It may be spent three times (main tasks, leftovers, a post-stop task), so
// that an exit comes at most 3 * kReapMs after the grace.
inline constexpr std::int64_t kReapMs = 200;

// The stop sequence, in the order of time; r is the reserve:
//
//   start .. (pre-stop, drain) .. notify_at: TERM .. (escalation) .. kill_at .r/4. (given up) .r/4.
//   sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. exit_at: start + grace
//
// Shares that would leave the TERM phase less than a quarter of the grace are scaled down.
struct Budget {
  std::int64_t drained_at = 0;     // main tasks are told to stop, unless pre-stop tasks still run
  std::int64_t notify_at = 0;      // main tasks are told to stop at the latest
  std::int64_t kill_at = 0;        // main tasks and hooks get KILL
  std::int64_t sweep_kill_at = 0;  // services and adopted processes get KILL
  std::int64_t post_term_at = 0;   // the post-stop task that still runs gets TERM
  std::int64_t post_kill_at = 0;   // the post-stop task that still runs gets KILL
  std::int64_t exit_at = 0;        // the end of the grace
  std::int64_t reap_ms = kReapMs;  // the time between KILL and giving up
  std::int64_t term_phase_ms = 0;  // the main tasks' least time: notify_at to kill_at
  std::int64_t post_stop_run_ms = 0;  // the post-stop tasks' least time together, to post_term_at

  bool operator==(const Budget&) const = default;
};
// The hooks that a part of the grace is kept for.
struct StopHooks {
  bool pre_stop = false;
  bool post_stop = false;
};
Budget make_budget(const Policy& policy, StopHooks hooks, std::int64_t start);

// The post_stop_ms of a policy that gives post-stop tasks `run_ms` before their TERM.
std::int64_t post_stop_share_ms(std::int64_t run_ms);

// Whether a step of the escalation comes before the KILL that comes anyway, where the main tasks
// were told to stop at `notified`.
bool in_time(const EscalationStep& step, const Budget& budget, std::int64_t notified);

// Gives post-stop tasks all their time from `now`: without a stop request nobody waits for the
// exit.
void allow_post_stop(const Policy& policy, std::int64_t now, Budget* budget);

}  // namespace envgen
