#pragma once
// The tasks that the lifecycle runs. A task is a row of Machine::tasks(): its kind, its state and
// the number of its run (incarnation), from 1. A run is one process of the task. Each start of the
// job (start.h) runs most tasks again. A service that still lives continues instead. Names,
// arguments and processes belong to the caller.

#include <cstddef>
#include <cstdint>

#include "base/exit_codes.h"

namespace lifecycle {

using TimeMs = std::int64_t;  // milliseconds of a monotonic clock

// The kinds of tasks. Hooks of one kind run one after the other. A failure of a kPreStart or
// kPostStart hook ends the job. A failure of any other hook changes nothing.
enum class TaskKind : std::uint8_t {
  // Copies data, in parallel with kResolve. If it did not exit with 0, the next start runs it
  // again.
  kData,
  // Resolves the plan; at most one task. It succeeds by ClusterReady and an exit with 0, in either
  // order.
  kResolve,
  kPreStart,    // hook: after kData and kResolve, before the main tasks
  kMain,        // a rank, or the job's single command
  kService,     // runs beside the main tasks; its end is no failure of the job
  kPostStart,   // hook: when all main tasks run
  kCheckpoint,  // hook: saves a checkpoint
  kPreStop,     // hook: before the main tasks get the stop signal
  kOnFailure,   // hook: after a failure, when the main tasks have ended
  kPostStop,    // process or hook: the last tasks of the container
};
inline constexpr std::size_t kTaskKinds = 10;

enum class TaskState : std::uint8_t { kIdle, kStarting, kRunning, kEnded };

// The way a task ended. With kNotStarted there was no process, and `value` is the exit code for the
// reason (125 fork failed, 126 not executable, 127 not found). With kStalled the process lives but
// makes no progress; that is a failure, and `value` is its exit code (70).
struct ExitStatus {
  enum class How : std::uint8_t { kExited, kSignaled, kNotStarted, kStalled };
  How how = How::kExited;
  int value = 0;  // signal number for kSignaled, otherwise an exit code

  [[nodiscard]] bool ok() const { return how == How::kExited && value == 0; }
  [[nodiscard]] int exit_code() const {
    return how == How::kSignaled ? exit_code::kSignalBase + value : value;
  }
  bool operator==(const ExitStatus&) const = default;
};

// A reference to one run of a task: its index in Machine::tasks() and its incarnation.
struct TaskRef {
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  bool operator==(const TaskRef&) const = default;
};

inline constexpr int kLastSignal = 64;
// Returns the bit of `signal` in a set of signals: bit n-1 for signal n, 1 .. 64. Any other number
// has no bit: 0.
constexpr std::uint64_t signal_bit(int signal) {
  return signal >= 1 && signal <= kLastSignal ? 1ULL << static_cast<unsigned>(signal - 1) : 0;
}

struct Task {
  TaskKind kind = TaskKind::kMain;
  std::uint32_t ordinal = 0;  // index among the tasks of its kind: the n-th rank, the n-th hook
  TaskState state = TaskState::kIdle;
  std::uint32_t incarnation = 0;  // 0 = never started
  int stop_signal = 0;            // last stop signal from the machine; 0: none
  // Set of the stop signals that the machine has sent in this run (signal_bit).
  std::uint64_t sent = 0;
  // Not waited for: it outlived SIGKILL (D state), or trainit may not signal it.
  bool abandoned = false;
  ExitStatus exit_status;  // valid with kEnded

  [[nodiscard]] bool live() const {
    return state == TaskState::kStarting || state == TaskState::kRunning;
  }
};

}  // namespace lifecycle
