#pragma once
// Searches for a program in PATH, without executing it, by the rules of base/search_path.h.

#include <string>
#include <string_view>

namespace sys {

// Returns whether `path` is a regular file that this process may execute.
bool is_program(const std::string& path);

// Returns the path of the first program that `name` means; "" if there is none. May block on a dead
// mount.
std::string find_program(std::string_view search_path, std::string_view name);

}  // namespace sys
