#include "init/doctor/machine.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/text.h"
#include "init/sys/cgroup.h"
#include "init/sys/files.h"

namespace doctor {
std::string text_of(const Context& context, const std::string& path) {
  return std::string(base::trimmed(sys::inspect(context.root + path, true).content));
}

std::vector<std::string> names_in(const Context& context, const std::string& path) {
  return sys::inspect(context.root + path, true).entries;
}

std::string cgroup_text(const Context& context, const CgroupFile& file) {
  const std::string groups = text_of(context, "/proc/self/cgroup");
  for (const std::string& path : sys::cgroup_files(groups, file.controller, file.v1, file.v2)) {
    std::string text = text_of(context, path);
    if (!text.empty()) return text;
  }
  return {};
}

std::optional<std::uint64_t> cgroup_limit(const Context& context, const CgroupFile& file) {
  // v1 writes "no limit" as the largest number of whole pages.
  constexpr std::uint64_t kUnlimited = 1ULL << 60;
  const auto number = number_in(cgroup_text(context, file));
  return number && *number < kUnlimited ? number : std::nullopt;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  return base::parse_number<std::uint64_t>(base::trimmed(text));
}

std::string_view field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = base::take_line(text);
    if (!line.starts_with(name) || line.substr(name.size()).find(':') != 0) continue;
    return base::trimmed(line.substr(name.size() + 1));
  }
  return {};
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::string_view item = base::trimmed(base::take_part(list, ','));
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

std::string size_text(std::uint64_t bytes) {
  static constexpr auto kUnits = base::words(" bytes", " KiB", " MiB", " GiB", " TiB");
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  std::uint64_t rest = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    rest = bytes % kStep;
    bytes /= kStep;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  const std::uint64_t tenths = rest * 10 / kStep;
  if (bytes < 10 && tenths > 0) text += "." + std::to_string(tenths);
  return text + std::string(kUnits[unit]);
}

std::string count_text(std::size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMax); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMax) text += " and " + std::to_string(names.size() - kMax) + " more";
  return text;
}

}  // namespace doctor
