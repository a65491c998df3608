#pragma once
// What all subcommands share: their arguments, and what they say.

#include <span>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "base/result.h"

namespace cli {

inline constexpr int kFailed = 125;  // trainit's own failure, or bad input

using Arguments = std::span<const std::string>;

// TRAINIT_RUN_DIR by the option, else as it is in `env`, and absolute: the ranks have directories
// of their own.
void set_run_dir(envgen::Environ& env, const std::string& option);
// Writes all of `text`; 0 or an errno.
int write_to(int fd, std::string_view text);
// Prints `text` on stdout; a failure to do so (a full disk, a closed pipe) is an exit code of 125.
int print(std::string_view text);
// Prints `error` on stderr as one line; returns kFailed. Waits for its reader: not for PID 1.
int complain(const envgen::Error& error);

}  // namespace cli
