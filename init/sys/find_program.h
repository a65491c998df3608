#pragma once
// The search for a program in PATH, without executing it. base/search_path.h has the rules.

#include <string>
#include <string_view>

namespace sys {

// Returns whether `path` is a regular file that this process may execute.
bool is_program(const std::string& path);

// Returns the first program that `name` means, or "". May block on a dead mount.
std::string find_program(std::string_view search_path, std::string_view name);

}  // namespace sys
