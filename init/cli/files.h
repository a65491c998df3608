#pragma once
// Files that a subcommand reads and writes for its user. `what` is the action, for errors.

#include <string>
#include <string_view>

#include "base/result.h"
#include "init/sys/files.h"

namespace cli {

// Returns the bytes of a regular file, at most envgen::kMaxInputBytes.
base::Result<std::string> read_file(const std::string& path, const char* what);

// Creates or replaces a regular file atomically. Writes into a file of any other type.
base::Status write_output(const std::string& path, std::string_view text, const char* what);
base::Status write_output(const std::string& path, const sys::Producer& text, const char* what);
// Writes the output of a command to `path`, or to stdout if `path` is "" or "-". Returns the exit
// code.
int put_out(const std::string& path, std::string_view text, const char* what);
int put_out(const std::string& path, const sys::Producer& text, const char* what);

}  // namespace cli
