#pragma once
// The tee: a separate process that reads what a node's processes print, and writes it to their log
// files and to trainit's stdout and stderr. Its duties, by priority: no loss in a log file, no loss
// for a reader that reads, no process blocked longer than `reader_timeout_ms`, a readable copy.
//
// The tee makes no decisions. It ends when its streams end, or when PID 1 orders it through a pipe
// (Work::lifeline). All signals are blocked. If the tee is killed, another tee continues with the
// same streams, because PID 1 keeps them open and never reads them.

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
  // True if the output is copied to trainit's stdout and stderr. That is also done if the log file
  // cannot be opened.
  bool echo = false;
  std::string prefix = {};
  // The descriptor of each Stream, non-blocking; -1: the process has no such stream, or it has
  // ended.
  std::array<int, 2> fds{-1, -1};
};

struct Work {
  std::vector<Feed> feeds;  // in the order of the processes in Shared
  std::int64_t log_max_bytes = 0;
  int log_keep = 0;
  // Maximum time for which a reader of trainit's output that reads nothing can block processes.
  std::int64_t reader_timeout_ms = 0;
  // The job's user, if that is not trainit's.
  std::optional<envgen::Identity> job_user = {};
  std::shared_ptr<OutputTotals> totals = {};  // may be nullptr
  // Pipe from PID 1 with orders (Told). When it is closed, the tee reads what is left and then ends
  // soon.
  int lifeline = -1;
  // Pipe of the previous start's tee, which must write its rest first; -1: no such tee.
  int before = -1;
};

// Orders of PID 1 to the tee.
enum class Told : char {
  kStop = 's',  // the processes will end soon: the reader's time-out is at most kIdleEndMs
  kEnd = 'e',   // the processes have ended: the rest is read and written, with the whole time-out
};

// A function that is called with each part of a process's output, after the part was written.
using Scan = std::function<void(std::size_t process, Stream stream, std::string_view bytes)>;

// Runs the tee until it ends. Returns its exit code.
int run(const Work& work, Shared& shared, const Scan& scan);

// Time for the end after Work::lifeline is closed: kIdleEndMs while nothing is read, kLongestEndMs
// in total.
inline constexpr std::int64_t kIdleEndMs = 1000;
inline constexpr std::int64_t kLongestEndMs = 5000;

}  // namespace logtee
