#pragma once
// The first failure as a value: what state.json holds of it beside the message, and the texts made
// of it. No system calls; what a process printed comes from a worker that has read it
// (output_tail).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace engine {

// In state.json: null for a wall clock that is 0, and for what is -1.
inline constexpr envgen::Rule kWallClock{.null = 0};
inline constexpr envgen::Rule kKnown{.null = -1};
inline constexpr envgen::Rule kMasked{.masked = true};

// Why it failed, as far as what was printed tells (envgen/failure/find_cause.h).
struct FailureCause {
  std::string line;           // "": the kernel alone knows
  std::string task;           // that printed it, where it is another one than failed first
  std::string failure_class;  // "cuda-oom"
  std::string role;           // "root"; "victim": it only says that another one failed
  std::string advice;
  std::string restart;                 // whether one can help: "unknown", "yes", "no"
  bool certain = false;                // the line speaks of this failure, and is no launcher's
  std::vector<std::string> traceback;  // that led to it

  bool operator==(const FailureCause&) const = default;
};
inline void fields(envgen::FieldVisitor& v, FailureCause& cause) {
  v("line", cause.line, kMasked);
  v("task", cause.task);
  v("class", cause.failure_class);
  v("role", cause.role);
  v("advice", cause.advice);
  v("restart", cause.restart);
  v("certain", cause.certain);
  v("traceback", cause.traceback, kMasked);
}

struct FailureDetail {
  std::string task;           // "rank-3", "main", "resolver"; "" = there was no failure
  int rank = -1;              // -1: none
  std::string launcher = {};  // "torchrun": the rank is one of those below the task; "" = itself
  int node = 0;               // its rank
  std::string host;           // the node's name
  int device = -1;            // -1: none
  std::string signal;         // "SIGKILL" when that ended it
  int exit_code = -1;
  bool oom = false;            // the cgroup's count of OOM kills has risen, and it was killed
  std::int64_t at_ms = 0;      // wall clock, UTC
  std::int64_t after_ms = -1;  // since its start; -1: it did not start
  std::string log;             // where its output is; "" = stdout
  // Nodes that had not connected to node 0 by then, and had time to, as node 0 knows: "node 1 (b)".
  std::string never_connected = {};
  std::optional<FailureCause> cause;
  std::vector<std::string> last_lines;  // that it printed, oldest first
  // What ran when it failed, and what that ended with: "rank-8: exit 143", "rank-9: SIGKILL".
  std::vector<std::string> torn_down;

  bool operator==(const FailureDetail&) const = default;
};
inline void fields(envgen::FieldVisitor& v, FailureDetail& detail) {
  v("task", detail.task);
  v("rank", detail.rank, kKnown);
  v("launcher", detail.launcher);
  v("node", detail.node);
  v("host", detail.host);
  v("device", detail.device, kKnown);
  v("signal", detail.signal);
  v("exit_code", detail.exit_code, kKnown);
  v("oom", detail.oom);
  v("at_ms", detail.at_ms, kKnown);
  v("after_ms", detail.after_ms, kKnown);
  v("log", detail.log);
  v("never_connected", detail.never_connected);
  v("cause", detail.cause);
  v("last_lines", detail.last_lines, kMasked);
  v("torn_down", detail.torn_down, kMasked);
}

// The rank that failed first below a launcher, which does the rest by itself.
struct FoundRank {
  std::string text;      // "rank 3 (in torchrun) exited with code 1: ..."; "" = nothing is known
  std::string launcher;  // "torchrun"
  int rank = -1;         // -1: not known, or not which of several
  std::string log;       // its own output; "" = none
  std::vector<std::string> last_lines;  // of that
};
inline void fields(envgen::FieldVisitor& v, FoundRank& found) {
  v("text", found.text);
  v("launcher", found.launcher);
  v("rank", found.rank);
  v("log", found.log);
  v("last_lines", found.last_lines);
}

// What a worker has read of what was printed, and what was wrong with the catalogue.
struct PrintedEnd {
  std::vector<std::string> last_lines;
  std::optional<FailureCause> cause;
  FoundRank rank;  // where the process was a launcher
  std::vector<std::string> warnings;
  std::uint32_t first = 0;  // place, among those that were looked at, of the likely first failure
};
inline void fields(envgen::FieldVisitor& v, PrintedEnd& end) {
  v("last_lines", end.last_lines);
  v("cause", end.cause);
  v("rank", end.rank);
  v("warnings", end.warnings);
  v("first", end.first);
}

inline constexpr std::size_t kMaxLastLines = 20;
inline constexpr std::size_t kMaxLastBytes = 4096;

// The last lines of what a process printed, of which the first line may be torn (`whole`: it is
// not). Together they have at most kMaxLastBytes. Terminal escapes and control characters are left
// out, of a progress bar its last state stays, empty lines are dropped, credentials are masked;
// what is no UTF-8 becomes '?'. A line has at most 400 bytes.
std::vector<std::string> last_lines_of(std::string_view printed, bool whole);

// "the cause (rank-5): KeyError: 'loss'", without the ranks that launchers put before a line; ""
// where no line is known.
std::string cause_text(const FailureCause& cause);

// One line for the log: the message, the cause and what to do; without a cause the last three
// lines.
std::string failure_line(std::string_view message, const FailureDetail& detail);

// Returns the termination message: the cause and the diagnosis as its first line, what to do, the
// cause's traceback, who was torn down, the last lines; at most `most_bytes`. What does not fit is
// cut from the oldest of the last lines on, then the oldest of the traceback, then the names.
std::string termination_text(std::string_view message, const FailureDetail& detail,
                             std::size_t most_bytes);

}  // namespace engine
