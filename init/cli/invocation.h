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

// TRAINIT_RUN_DIR by the option, else as it is in `env`, and absolute: the ranks have directories
// of their own.
void set_run_dir(envgen::Environ& env, const std::string& option);
// Prints `lines` on stdout; a failure to do so (a full disk, a closed pipe) is an exit code of 125.
int print(const envgen::ShownLines& lines);
// The same for a text that nobody else has a part in, or that its maker has made printable: help,
// JSON, a drawn screen.
int print_as_is(std::string_view text);
// Prints `error` on stderr as one line; returns kFailed. Waits for its reader: not for PID 1.
int complain(const envgen::Error& error);
void warn(const std::string& warning);
// Prints `line` on stderr without a kind.
void remark(const std::string& line);

}  // namespace cli
