#pragma once
// Functions that read small files of /proc and /sys for the checks, below Context::root.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/doctor/context.h"

namespace doctor {

// Returns a file's text without the white space at its end, or "" if there is no such file.
std::string text_of(const Context& context, const std::string& path);
// Returns the names in a directory, or an empty list if there is no such directory.
std::vector<std::string> names_in(const Context& context, const std::string& path);

// The names of a cgroup controller's file in v1 and v2. cgroup_text() returns the content of this
// container's file, or "" if it does not exist.
struct CgroupFile {
  std::string_view controller;
  std::string_view v1;  // "" = v1 lacks this file
  std::string_view v2;
};
std::string cgroup_text(const Context& context, const CgroupFile& file);
// Returns the number in a cgroup file. Returns nullopt for "max", for v1's "unlimited", and if the
// file does not exist.
std::optional<std::uint64_t> cgroup_limit(const Context& context, const CgroupFile& file);

std::optional<std::uint64_t> number_in(std::string_view text);
// Returns the word after `name`, for example after "CapEff:" in /proc/self/status. Returns "" if
// `name` is not in the text.
std::string_view field_of(std::string_view text, std::string_view name);
// Returns the items of a list separated by commas, without blanks around them.
std::vector<std::string> split_list(std::string_view list);

std::string size_text(std::uint64_t bytes);  // returns "64 MiB", "1.5 GiB"
// Returns the count with its noun: "3 things", "1 thing".
std::string count_text(std::size_t count, std::string_view thing);
// Returns the names as one text; a long list is cut: "a, b, c and 5 more".
std::string listed(const std::vector<std::string>& names);

}  // namespace doctor
