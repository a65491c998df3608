#include "envgen/formats/npu_topology.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace envgen {
namespace {

constexpr std::string_view kColumn = "CPU Affinity";
constexpr std::string_view kName = "NPU";
constexpr std::string_view kSpace = " \t\r";
constexpr std::size_t kMostNpus = 1024;
constexpr std::size_t kMostFoundBytes = 80;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  const std::size_t last = line.find_last_not_of(kSpace);
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// "NPU7   HCCS ..." -> 7
std::optional<int> npu_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == std::string_view::npos || !line.substr(first).starts_with(kName)) return {};
  const std::string_view rest = line.substr(first + kName.size());
  int npu = -1;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), npu);
  const auto digits = static_cast<std::size_t>(stop - rest.data());
  const bool ends = digits < rest.size() && kSpace.find(rest[digits]) != std::string_view::npos;
  if (error != std::errc{} || npu < 0 || !ends) return {};
  return npu;
}

std::unexpected<Error> refuse(std::string_view where, std::string found) {
  return fail("reading the NPU topology", std::string(where), std::move(found),
              "a driver that prints the column CPU Affinity is needed");
}

}  // namespace

Result<std::vector<NpuAffinity>> parse_npu_topology(std::string_view text, std::string_view where) {
  const std::size_t header = text.find(kColumn);
  if (header == std::string_view::npos) {
    const std::string_view first = take_line(text);
    return refuse(where, first.empty() ? "nothing" : std::string(first.substr(0, kMostFoundBytes)));
  }
  text.remove_prefix(header);
  take_line(text);
  std::vector<NpuAffinity> list;
  while (!text.empty() && list.size() < kMostNpus) {
    const std::string_view line = take_line(text);
    const auto npu = npu_of(line);
    if (!npu) continue;
    const std::string_view last = line.substr(line.find_last_of(kSpace) + 1);
    auto cpus = parse_cpu_list(last);
    if (!cpus || cpus->empty()) continue;
    if (std::ranges::find(list, *npu, &NpuAffinity::npu) != list.end()) {
      return refuse(where, "two lines of NPU" + std::to_string(*npu));
    }
    list.push_back({*npu, std::move(*cpus)});
  }
  if (list.empty()) return refuse(where, "no line of an NPU with its CPUs");
  return list;
}

}  // namespace envgen
