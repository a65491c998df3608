#pragma once
// The tee: a separate process that reads what a node's processes print. The tee writes that to
// their log files and to trainit's stdout and stderr. Its duties, by priority: no loss in a file,
// no loss for a reader that reads, no block of a process beyond `reader_timeout_ms`, a readable
// copy.
//
// The tee decides nothing. It ends when its streams end, or by an order through its pipe from PID 1
// (Work::lifeline). All signals are blocked. If the tee is killed, another tee continues with the
// same streams, because PID 1 holds them and never reads them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/tee/output_totals.h"
#include "init/tee/shared.h"

namespace logtee {

// The output of one process.
struct Feed {
  std::string log = {};  // "" = no file
  // true: copied to trainit's stdout and stderr. Also done if the log file cannot be opened.
  bool echo = false;
  std::string prefix = {};
  // Descriptors by Stream, non-blocking; -1: no such stream, or it has ended.
  std::array<int, 2> fds{-1, -1};
};

struct Work {
  std::vector<Feed> feeds;  // ordered as the processes in Shared
  std::int64_t log_max_bytes = 0;
  int log_keep = 0;
  // How long a reader of trainit's output that reads nothing can block processes.
  std::int64_t reader_timeout_ms = 0;
  // The job's user, if it is a different user than trainit's.
  std::optional<envgen::Identity> job_user = {};
  std::shared_ptr<OutputTotals> totals = {};  // may be nullptr
  // Pipe with bytes of Told. When it is closed, the tee reads what is left and soon ends.
  int lifeline = -1;
  // Pipe of the tee of the last start, which writes first; -1: no such tee.
  int before = -1;
};

// Orders of PID 1 to the tee.
enum class Told : char {
  kStop = 's',  // the processes are about to end: the time-out is at most kIdleEndMs
  kEnd = 'e',   // the processes have ended: the rest is read and written, with the full time-out
};

// Called with each part of a process's output, after it was written.
using Scan = std::function<void(std::size_t process, Stream stream, std::string_view bytes)>;

// Runs the tee until it ends. Returns its exit code.
int run(const Work& work, Shared& shared, const Scan& scan);

// The time for the end after Work::lifeline is closed: while nothing is read, and as a whole.
inline constexpr std::int64_t kIdleEndMs = 1000;
inline constexpr std::int64_t kLongestEndMs = 5000;

}  // namespace logtee
