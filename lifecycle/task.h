#pragma once
// The tasks that the lifecycle runs: a task is a row of a table, its kind, and which run of it is
// meant. Names, arguments and processes belong to the caller.

#include <cstddef>
#include <cstdint>

#include "base/exit_codes.h"

namespace lifecycle {

using TimeMs = std::int64_t;  // milliseconds of a monotonic clock

// Tasks of a hook's kind run one after the other; a failure of kPreStart and kPostStart ends the
// job, one of the others changes nothing.
enum class TaskKind : std::uint8_t {
  kData,        // beside kResolve; again in the next start if it did not end well
  kResolve,     // at most one; ends well by ClusterReady and an exit with 0, in either order
  kPreStart,    // hook: after these two, before the main tasks
  kMain,        // a rank, or the single command
  kService,     // runs beside the main tasks; its end is no failure
  kPostStart,   // hook: once all main tasks run
  kCheckpoint,  // hook: saves what the job has reached
  kPreStop,     // hook: before the main tasks are told to stop
  kOnFailure,   // hook: after a failure, with the main tasks gone
  kPostStop,    // hook: last of all
};
inline constexpr std::size_t kTaskKinds = 10;

enum class TaskState : std::uint8_t { kIdle, kStarting, kRunning, kEnded };

// How a task ended. kNotStarted: there is no process; value is the exit code it stands for
// (125 fork failed, 126 not executable, 127 not found). kStalled: it lives and makes no progress,
// which counts as its failure; value is the exit code that it stands for (70).
struct ExitStatus {
  enum class How : std::uint8_t { kExited, kSignaled, kNotStarted, kStalled };
  How how = How::kExited;
  int value = 0;  // a signal number where one ended it, else an exit code

  [[nodiscard]] bool ok() const { return how == How::kExited && value == 0; }
  [[nodiscard]] int exit_code() const {
    return how == How::kSignaled ? exit_code::kSignalBase + value : value;
  }
  bool operator==(const ExitStatus&) const = default;
};

// A task's place in Machine::tasks() and which run of it is meant.
struct TaskRef {
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  bool operator==(const TaskRef&) const = default;
};

inline constexpr int kLastSignal = 64;
// Of a set of signals: bit n-1 stands for signal n, 1 .. 64; any other number is in no set.
constexpr std::uint64_t signal_bit(int signal) {
  return signal >= 1 && signal <= kLastSignal ? 1ULL << static_cast<unsigned>(signal - 1) : 0;
}

struct Task {
  TaskKind kind = TaskKind::kMain;
  std::uint32_t ordinal = 0;  // its place among the tasks of its kind: the n-th rank, the n-th hook
  TaskState state = TaskState::kIdle;
  std::uint32_t incarnation = 0;  // 0 = never started
  int stop_signal = 0;            // the last one we sent it: its death is then ours, no cause
  std::uint64_t sent = 0;         // all that we sent it, as signal_bit has them
  bool abandoned = false;         // outlives its SIGKILL (D state, another user's): not waited for
  ExitStatus exit_status;         // when kEnded

  [[nodiscard]] bool live() const {
    return state == TaskState::kStarting || state == TaskState::kRunning;
  }
};

}  // namespace lifecycle
