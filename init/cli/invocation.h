#pragma once
// The parts that all subcommands share: their arguments and their messages.

#include <span>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "base/exit_codes.h"
#include "base/result.h"
#include "base/shown_lines.h"

namespace cli {

inline constexpr int kFailed = exit_code::kOwnFailure;  // trainit's own failure, or bad input

using Arguments = std::span<const std::string>;

// Sets TRAINIT_RUN_DIR to the option, if given, and makes it absolute, because the ranks can have
// other working directories.
void set_run_dir(base::Environ& env, const std::string& option);
// Prints `lines` on stdout. Returns 0, or 125 if that failed (a full disk, a closed pipe).
int print(const base::ShownLines& lines);
// print() for a text that contains no untrusted data, or that its maker has escaped: help, JSON, a
// drawn screen.
int print_as_is(std::string_view text);
// Prints `error` on stderr as one line and returns kFailed. The call can block on the reader of
// stderr, so PID 1 must not use it.
int complain(const base::Error& error);
void warn(const std::string& warning);
// Prints `line` on stderr without "error" or "warning" before it.
void remark(const std::string& line);

}  // namespace cli
