#pragma once
// Files that a subcommand reads and writes for its user. `what` is what was being done, for errors.

#include <string>
#include <string_view>

#include "base/result.h"
#include "init/sys/files.h"

namespace cli {

// A regular file's bytes, at most envgen::kMaxInputBytes of them.
envgen::Result<std::string> read_file(const std::string& path, const char* what);

// Replaces a regular file, or makes one, atomically; writes into anything else.
envgen::Status write_output(const std::string& path, std::string_view text, const char* what);
envgen::Status write_output(const std::string& path, const sys::Producer& text, const char* what);
// The same for what a command makes, on stdout where no file is named, or "-"; the exit code.
int put_out(const std::string& path, std::string_view text, const char* what);
int put_out(const std::string& path, const sys::Producer& text, const char* what);

}  // namespace cli
