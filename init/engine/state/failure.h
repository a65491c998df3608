#pragma once
// The first failure as a value: its members in state.json beside the message, and the texts made of
// it. Makes no system calls: a worker (output_tail) reads what a process printed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace engine {

// Rules of members in state.json: a wall clock that is 0, and a number that is -1, are written as
// null.
inline constexpr base::Rule kWallClock{.null = 0};
inline constexpr base::Rule kKnown{.null = -1};
inline constexpr base::Rule kMasked{.masked = true};

// The cause of a failure, as far as the printed lines show it (envgen/failure/find_cause.h).
struct FailureCause {
  std::string line;  // "": no line was printed, only the kernel knows
  // Task that printed the line, if it is not the task that failed first.
  std::string task;
  std::string failure_class;  // "cuda-oom"
  // "root"; "victim": the line only reports that a different process failed.
  std::string role;
  std::string advice;
  std::string restart;                 // whether a restart can help: "unknown", "yes", "no"
  bool certain = false;                // the line is about this failure, and no launcher printed it
  std::vector<std::string> traceback;  // traceback that led to the line

  bool operator==(const FailureCause&) const = default;
};
inline void fields(base::FieldVisitor& v, FailureCause& cause) {
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
  std::string task;  // "rank-3", "main", "resolver"; "" = no failure
  int rank = -1;     // -1: not a rank
  // "torchrun": the rank is a process below the task. "" = the task is the rank.
  std::string launcher = {};
  int node = 0;        // rank of the node
  std::string host;    // the node's name
  int device = -1;     // -1: no device
  std::string signal;  // "SIGKILL" if a signal ended the task
  int exit_code = -1;
  bool oom = false;        // the task was killed, and the cgroup's count of OOM kills has risen
  std::int64_t at_ms = 0;  // wall clock, UTC
  // Time since the start of the task; -1: the task did not start.
  std::int64_t after_ms = -1;
  std::string log;  // path of its output; "" = stdout
  // Nodes that had not connected to node 0 at that time, although they had time to: "node 1 (b)".
  // Node 0 reports them.
  std::string never_connected = {};
  std::optional<FailureCause> cause;
  std::vector<std::string> last_lines;  // lines that the task printed last, oldest first
  // Tasks that ran at the time of the failure, and how they ended:
  // "rank-8: exit 143", "rank-9: SIGKILL".
  std::vector<std::string> torn_down;

  bool operator==(const FailureDetail&) const = default;
};
inline void fields(base::FieldVisitor& v, FailureDetail& detail) {
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

// The rank that failed first below a launcher. The launcher itself starts and stops its ranks.
struct FoundRank {
  // "rank 3 (in torchrun) exited with code 1: ..."; "" = no rank was found.
  std::string text;
  std::string launcher;                 // "torchrun"
  int rank = -1;                        // -1: unknown, or one of several
  std::string log;                      // file with the rank's own output; "" = none
  std::vector<std::string> last_lines;  // last lines of that file
};
inline void fields(base::FieldVisitor& v, FoundRank& found) {
  v("text", found.text);
  v("launcher", found.launcher);
  v("rank", found.rank);
  v("log", found.log);
  v("last_lines", found.last_lines);
}

// The result of a worker that read the printed lines. `warnings` are about the catalogue of causes.
struct PrintedEnd {
  std::vector<std::string> last_lines;
  std::optional<FailureCause> cause;
  FoundRank rank;  // filled in if the process was a launcher
  std::vector<std::string> warnings;
  // Index of the likely first failure in the list of the processes that were examined.
  std::uint32_t first = 0;
};
inline void fields(base::FieldVisitor& v, PrintedEnd& end) {
  v("last_lines", end.last_lines);
  v("cause", end.cause);
  v("rank", end.rank);
  v("warnings", end.warnings);
  v("first", end.first);
}

inline constexpr std::size_t kMaxLastLines = 20;
inline constexpr std::size_t kMaxLastBytes = 4096;

// Returns the last lines of what a process printed: at most kMaxLastBytes, and 400 bytes per line.
// If `whole` is false, the first line of `printed` may be torn. Removes terminal escapes, control
// characters and empty lines. Masks credentials, and replaces invalid UTF-8 by '?'. A progress bar
// is reduced to its last state.
std::vector<std::string> last_lines_of(std::string_view printed, bool whole);

// Returns "the cause (rank-5): KeyError: 'loss'", or "" if no line is known. Leaves out the rank
// prefix that launchers put before a line.
std::string cause_text(const FailureCause& cause);

// Returns the last lines without the traceback, which is shown before them.
std::vector<std::string> lines_beside_traceback(const FailureDetail& detail);

// Returns one line for the log: the cause, "first failure: " with the message, and the advice.
// Without a cause it has the last three lines.
std::string failure_line(std::string_view message, const FailureDetail& detail);

// Returns the termination message, at most `most_bytes`. The first line has the cause and the
// diagnosis. The advice, the cause's traceback, the tasks that were torn down and the last lines
// follow. If the text is too long, the oldest of the last lines are cut first, then the oldest of
// the traceback, then the names.
std::string termination_text(std::string_view message, const FailureDetail& detail,
                             std::size_t most_bytes);

}  // namespace engine
