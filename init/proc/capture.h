#pragma once
// The captured run of a program of the image: to its end, with what it prints, within bounds of
// time and size. For workers: it blocks, and never returns later than a second behind its limit,
// whatever the program does.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/environ.h"
#include "init/proc/exec.h"

namespace proc {

inline constexpr std::size_t kMostCapturedBytes = 16UL << 20;

struct Captured {
  std::string output;  // of stdout and stderr, as it came
  int exit_code = -1;  // 128 + n for a signal; -1: it had not ended when we stopped looking
  bool late = false;   // the time was over before its output was
};

// Looked up in the PATH of `env`. It has a session of its own, no input, and is killed with its
// group when this returns, or when this process dies. Fails when it cannot be started.
std::expected<Captured, StartFailure> capture(std::vector<std::string> argv,
                                              const envgen::Environ& env, std::int64_t limit_ms,
                                              std::size_t most_bytes = kMostCapturedBytes);

}  // namespace proc
