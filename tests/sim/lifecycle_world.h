#pragma once
// A fake container for a Machine: processes that start, run, die, ignore signals, hang in the
// kernel and leave orphans; a reaper that sees deaths in turns; timers that may be late; and
// whoever stops, releases or disturbs the job from outside. All of it follows from a Scenario, and
// that from a seed.

#include <array>
#include <csignal>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lifecycle/machine.h"
#include "tests/sim/lifecycle_referee.h"

namespace sim {

// What happens to the job from outside.
struct Input {
  enum class What : std::uint8_t {
    kStop,         // value: the signal; told: the one for the main tasks, or 0
    kSignal,       // value: the signal
    kRelease,      //
    kHoldFor,      // value: milliseconds
    kCheckpoint,   // value: whether the job goes on, + 2: asked for elsewhere
    kExpireIn,     // value: milliseconds
    kMembership,   //
    kNobodySaves,  // when it may not have been asked
    kLateEnd,      // a death that was already told, of this or an earlier run
    kLateStart,    // a start likewise
    kLateTimer,    // a timer's earlier generation
    kLateBegin,    //
    kLateAnswer,   // ClusterReady or ResolveFailed when nobody asked
    kUnreachable,  // of what is gone
    kNobodyLeft,   // NothingLeft and NothingAdopted outside a sweep
    kLinked,       // value: whether it is up
    kJobFailed,    // value: what the other nodes say
    kUnfit,
    kSaveKnown,
    kTaskWrites,  // value: whether it is unknown
    kNodesReady,  // value: the restarts that they count; also when nobody asked
    kDiagnosed,   // value: of which start, doubled, + 1: hopeless; also when nobody asked
  };
  What what = What::kStop;
  TimeMs at = 0;
  TimeMs value = 0;
  int notified = 0;
};

// What a process does. The default is plain: it runs a little and exits with 0, and dies when told.
struct Behaviour {
  TimeMs confirm_ms = 1;
  int start_error = 0;  // not started, after confirm_ms, with this exit code
  TimeMs life_ms = 10;  // -1: until it is told to stop
  lifecycle::ExitStatus exit_status;
  bool ignores_term = false;
  TimeMs term_ms = 0;
  int term_code = -1;           // exits with it when told to stop; -1: dies of the signal
  bool dies_of_others = false;  // of a forwarded signal
  bool dies_of_steps = false;   // of a signal of the escalation, after term_ms
  TimeMs save_ms = -1;          // exits so long after it was asked to save; -1: saves and goes on
  bool unkillable = false;      // in D state
  bool unreachable = false;     // another user's: no signal reaches it
  TimeMs kill_ms = 0;
  bool takes_others = false;  // the other ranks fail when it does
  bool seen_late = false;     // reaped a turn after others that had ended by then
  int orphans = 0;            // processes that it leaves behind
  int generations = 0;        // which leave behind one each, so many times
  bool silent = false;        // the resolver's answer: none,
  int answer_failed = 0;      // or ResolveFailed with this code, else ClusterReady,
  TimeMs answer_ms = 5;       // so long after its start, if it lives or has exited with 0 by then
};

// What the other nodes do in one start of the job.
struct OtherNodes {
  TimeMs arrive_ms = 5;    // so long after they are awaited; -1: never
  TimeMs verdict_ms = -1;  // so long after the way down began; -1: none
  lifecycle::event::JobFailed verdict;
  // And what is found of a failure here: so long after it; -1: nothing.
  TimeMs diagnosed_ms = -1;
  bool hopeless = false;
};

struct Scenario {
  std::uint64_t seed = 0;
  lifecycle::Policy policy;
  std::vector<TaskKind> preparing;
  std::array<std::vector<TaskKind>, 4> clusters;  // one for each start of the job
  lifecycle::SuccessPolicy success = lifecycle::SuccessPolicy::kAll;
  std::array<TimeMs, 4> post_stop_ms{};  // of each answer's policy; 0: as before
  bool part_of_job = false;
  bool linked = false;
  std::array<OtherNodes, 4> nodes;
  bool nobody_saves = false;  // no main task takes the signal for a checkpoint
  std::vector<Input> inputs;
  bool tells_adopted = true;      // has a /proc to tell adopted processes apart
  std::set<std::uint64_t> plain;  // the processes made plain by shrinking
  bool orderly = false;           // by shrinking: no late timers, no slow reaper
  // Falsifies the Machine's actions, to see that the referee notices.
  void (*tamper)(std::vector<lifecycle::Action>& actions) = nullptr;
  // What the Machine takes for the event, likewise.
  void (*mishear)(lifecycle::Event& event) = nullptr;
};
Scenario make_scenario(std::uint64_t seed);
// The process of this run of a task, or an orphan of this number.
Behaviour make_behaviour(const Scenario& scenario, std::uint64_t process);
std::uint64_t process_key(TaskKind kind, std::uint32_t ordinal, std::uint32_t incarnation);
inline constexpr std::uint64_t kOrphanKey = 1ULL << 40U;  // and from there
inline constexpr int kStepSignal = SIGUSR2;               // no input sends it
// What others tell of a failure: each combination of five bits.
lifecycle::event::JobFailed job_failed(TimeMs bits);

struct Outcome {
  std::string complaint;  // "" = all was well
  std::uint64_t steps = 0;
  std::string trace;             // if asked for
  std::set<std::uint64_t> keys;  // the processes that there were
  std::set<std::string> met;     // "<phase> <kind of event>": which states met which events
  std::set<std::string> moves;   // "<phase> -> <phase>"
};
struct Watch {
  bool trace = false;
  bool met = false;
};
Outcome run(const Scenario& scenario, Watch watch = {});

// A smaller scenario that fails as well: fewer inputs, fewer tasks, plainer processes.
Scenario shrink(const Scenario& failing);

}  // namespace sim
