#pragma once
// Readers of the machine for the checks: small files of /proc and /sys, below Context::root.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/doctor/context.h"

namespace doctor {

// Without the white space at its end; "" when there is no such file.
std::string text_of(const Context& context, const std::string& path);
// The names in a directory; none when there is no such one.
std::vector<std::string> names_in(const Context& context, const std::string& path);

// The value of this container's cgroup, by the controller's file of v1 or v2; "" when it has none.
struct CgroupFile {
  std::string_view controller;
  std::string_view v1;  // "" = v1 has no such file
  std::string_view v2;
};
std::string cgroup_text(const Context& context, const CgroupFile& file);
// The same as a number; nothing for "max", for v1's "unlimited" and where there is no file.
std::optional<std::uint64_t> cgroup_limit(const Context& context, const CgroupFile& file);

std::optional<std::uint64_t> number_in(std::string_view text);
// The word behind "CapEff:" of /proc/self/status, or another field of such a file; "" = none.
std::string_view field_of(std::string_view text, std::string_view name);
// What stands between commas, without blanks around it.
std::vector<std::string> split_list(std::string_view list);

std::string size_text(std::uint64_t bytes);  // "64 MiB", "1.5 GiB"
// "3 things", "1 thing".
std::string count_text(std::size_t count, std::string_view thing);
// "a, b, c and 5 more"
std::string listed(const std::vector<std::string>& names);

}  // namespace doctor
