#include "envgen/formats/npu_topology.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::string_view kColumn = "CPU Affinity";
constexpr std::string_view kName = "NPU";
constexpr std::string_view kSpace = " \t\r";
constexpr std::size_t kMaxNpus = 1024;
constexpr std::size_t kMaxFoundBytes = 80;

// Returns the number in the first column: 7 for "NPU7   HCCS ...".
std::optional<int> npu_of(std::string_view line) {
  const std::string_view name = base::take_word(line);
  if (!name.starts_with(kName) || line.empty()) return {};
  return base::parse_count<int>(name.substr(kName.size()));
}

std::unexpected<base::Error> refuse(std::string_view where, std::string found) {
  return base::fail("reading the NPU topology", std::string(where), std::move(found),
                    "a driver that prints the column CPU Affinity is needed");
}

}  // namespace

base::Result<std::vector<NpuAffinity>> parse_npu_topology(std::string_view text,
                                                          std::string_view where) {
  const std::size_t header = text.find(kColumn);
  if (header == std::string_view::npos) {
    const std::string_view first = base::trimmed(base::take_line(text));
    return refuse(where, first.empty() ? "nothing" : std::string(first.substr(0, kMaxFoundBytes)));
  }
  text.remove_prefix(header);
  base::take_line(text);
  std::vector<NpuAffinity> list;
  while (!text.empty() && list.size() < kMaxNpus) {
    const std::string_view line = base::trimmed(base::take_line(text));
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
