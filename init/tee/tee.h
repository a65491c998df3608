#pragma once
// The tee: a process of its own that reads what a node's processes print and writes it to their log
// files and to our stdout and stderr. Its duties in this order: lose nothing for a file, lose
// nothing for a reader that reads, hold no process up for longer than the patience, then the copy's
// looks. It decides nothing and ends by the end of its streams, or as it is told by the pipe of its
// life, not by signals, which it has blocked. When it is killed another one goes on with the same
// streams: PID 1 holds them, and never reads them.

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
#include "init/tee/lost.h"
#include "init/tee/shared.h"

namespace logtee {

// The output of one process.
struct Feed {
  std::string log = {};  // "" = no file
  bool echo = false;     // to our stdout and stderr; also without, where there can be no such file
  std::string prefix = {};
  std::array<int, 2> fds{-1, -1};  // by Stream, non-blocking; -1: there is none, or no more
};

struct Work {
  std::vector<Feed> feeds;  // by the index in Shared
  std::int64_t log_max_bytes = 0;
  int log_keep = 0;
  std::int64_t patience_ms = 0;  // how long a reader of ours that reads nothing holds processes up
  std::optional<envgen::Identity> job_user = {};  // where it is another user than ours
  std::shared_ptr<Lost> lost = {};  // what is lost is counted there; nullptr: it is not
  int life = -1;    // bytes of Told; at its end what is there is taken, and soon that is all
  int before = -1;  // of the tee of the last incarnation, which writes first; -1: there was none
};

// What PID 1 tells it while it lives.
enum class Told : char {
  kStop = 's',  // the processes are to end: the patience is over after kIdleEndMs
  kEnd = 'e',   // they have: what is there is taken and written, with all the patience
};

// What is to be told of a process's output, behind the writing.
using Scan = std::function<void(std::size_t process, Stream stream, std::string_view bytes)>;

// The tee's body; its exit code.
int run(const Work& work, Shared& shared, const Scan& scan);

// How long the end may take where the life is at its end: while nothing is read, and in all.
inline constexpr std::int64_t kIdleEndMs = 1000;
inline constexpr std::int64_t kLongestEndMs = 5000;

}  // namespace logtee
