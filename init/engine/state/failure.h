#pragma once
// The first failure of a job as values: the members of state.json about it (apart from its
// message), and the texts made of them. Makes no system calls: a worker (output_tail.h) reads what
// the processes printed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace engine {

// Rules for members of state.json. kWallClock writes the time 0 as null, kKnown the number -1.
// kMasked hides credentials.
inline constexpr base::Rule kWallClock{.null = 0};
inline constexpr base::Rule kKnown{.null = -1};
inline constexpr base::Rule kMasked{.masked = true};

// The cause of a failure, as the printed lines show it (envgen/failure/find_cause.h).
struct FailureCause {
  // The line that names the cause; "": no line does, the kernel reported the cause.
  std::string line;
  // Task that printed the line. "": the task that failed first.
  std::string task;
  std::string failure_class;  // class of the failure in the catalogue, such as "cuda-oom"
  // "root": the line shows the cause. "victim": it only reports that a different process failed.
  std::string role;
  std::string advice;
  std::string restart;                 // whether a restart can help: "unknown", "yes", "no"
  bool certain = false;                // the line is about this failure, and no launcher printed it
  std::vector<std::string> traceback;  // Python traceback that ends with the line

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
  // The launcher, such as "torchrun", if the rank is a process below the task. "" = the task is the
  // rank itself.
  std::string launcher = {};
  int node = 0;        // rank of the node on which the task failed
  std::string host;    // name of that node
  int device = -1;     // index of the rank's device; -1: none
  std::string signal;  // "SIGKILL" if a signal ended the task
  int exit_code = -1;
  bool oom = false;        // SIGKILL ended the task, and the cgroup's count of OOM kills has risen
  std::int64_t at_ms = 0;  // wall clock, UTC
  // Time from the start of the task to the failure; -1: the task did not start.
  std::int64_t after_ms = -1;
  std::string log;  // file with the task's output; "" = stdout
  // Nodes that had not connected to node 0 by then, although they had time to: "node 1 (b)". Only
  // node 0 knows them.
  std::string never_connected = {};
  std::optional<FailureCause> cause;
  std::vector<std::string> last_lines;  // lines that the task printed last, oldest first
  // Tasks that ran at the time of the failure and were stopped because of it, with how they ended:
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

// The rank that failed first below a launcher in the user's command. trainit does not start such
// ranks, so a worker searches for it (rank_search.h).
struct FoundRank {
  // "rank 3 (in torchrun) exited with code 1: ..."; "" = no rank was found.
  std::string text;
  // The launcher that was found: "torchrun", "msrun", ...; "" = no rank was found.
  std::string launcher;
  int rank = -1;    // -1: not known, or it is not clear which of several failed first
  std::string log;  // file with the rank's own output; "" = none
  std::vector<std::string> last_lines;  // last lines of that file
};
inline void fields(base::FieldVisitor& v, FoundRank& found) {
  v("text", found.text);
  v("launcher", found.launcher);
  v("rank", found.rank);
  v("log", found.log);
  v("last_lines", found.last_lines);
}

// The result of the worker that reads what the failed processes printed. `warnings` are about the
// catalogue of causes.
struct PrintedEnd {
  std::vector<std::string> last_lines;
  std::optional<FailureCause> cause;
  FoundRank rank;  // set if the process was a launcher
  std::vector<std::string> warnings;
  // Index in Cause::ends of the process that most likely failed first.
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

// Returns the last lines of what a process printed: at most kMaxLastLines, kMaxLastBytes, and 400
// bytes per line. If `whole` is false, `printed` begins within a line, which is left out. Removes
// terminal escapes, control characters and empty lines. Masks credentials, and replaces invalid
// UTF-8 by '?'. A progress bar is reduced to its last state.
std::vector<std::string> last_lines_of(std::string_view printed, bool whole);

// Returns "the cause (rank-5): KeyError: 'loss'", or "" if no line is known. Leaves out the rank
// prefix that launchers put before a line.
std::string cause_text(const FailureCause& cause);

// Returns FailureDetail::last_lines without the cause's traceback, which texts show before them.
std::vector<std::string> lines_beside_traceback(const FailureDetail& detail);

// Returns one line for the log: the cause, "first failure: " with the message, and the advice. If
// no cause is known, the last three lines follow the message.
std::string failure_line(std::string_view message, const FailureDetail& detail);

// Returns the termination message, at most `most_bytes`. The first line has the cause and the
// diagnosis. Nodes that never connected, the advice, the cause's traceback, the tasks that were
// torn down and the last lines follow. If the text is too long, the oldest of the last lines are
// left out first, then the names of the tasks are cut. The traceback gets at most half of the space
// after the advice.
std::string termination_text(std::string_view message, const FailureDetail& detail,
                             std::size_t most_bytes);

}  // namespace engine
