// Any text as a rank table: no crash, and what is converted numbers its ranks 0 .. N - 1, is
// accepted by check() and converts to itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/ranktable/ranktable.h"
#include "tests/envgen/ranktable/converted.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_converted(const envgen::ConvertedTable& converted, envgen::RankOrder order) {
  std::size_t ranks = 0;
  for (const envgen::Node& node : converted.nodes) ranks += node.devices.size();
  std::vector<bool> seen(ranks);
  for (const envgen::Node& node : converted.nodes) {
    for (const envgen::Device& device : node.devices) {
      auto rank = static_cast<std::size_t>(device.rank);
      require(rank < ranks && !seen[rank]);
      seen[rank] = true;
    }
  }
  auto again = envgen::RankTable::parse(converted.text, "converted");
  require(again.has_value());
  for (const envgen::Finding& finding : again->check()) {
    require(finding.severity == envgen::Finding::Severity::kWarning);
  }
  auto twice = envgen::convert(std::move(*again), order);
  require(twice.has_value() && twice->text == converted.text);
}

// With an escape in it a table is read by its tree; what could be scanned must be the same.
void check_tree(const envgen::RankTable& table, std::string_view text) {
  constexpr std::string_view kKey = "\"status\"";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return;
  const std::string escaped = std::string(text.substr(0, at)) + R"("st\u0061tus")" +
                              std::string(text.substr(at + kKey.size()));
  auto tree = envgen::RankTable::parse(escaped, "fuzz");
  require(tree.has_value() && tree->check() == table.check());
  for (envgen::RankOrder order : {envgen::RankOrder::kPodIndex, envgen::RankOrder::kServerId}) {
    auto ours = envgen::convert(*envgen::RankTable::parse(text, "fuzz"), order);
    auto theirs = envgen::convert(*envgen::RankTable::parse(escaped, "fuzz"), order);
    require(ours.has_value() == theirs.has_value());
    // Of version 2.0 the text is the input.
    const bool same_text = table.format() == envgen::TableFormat::kRankList;
    if (ours) require(ours->nodes == theirs->nodes && (same_text || ours->text == theirs->text));
  }
}

}  // namespace

TRAINIT_FUZZER(ranktable) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto table = envgen::RankTable::parse(text, "fuzz");
  if (!table) {
    require(!to_line(table.error().error).empty());
    return 0;
  }
  check_tree(*table, text);
  for (const envgen::Finding& finding : table->check()) {
    require(!finding.rule.empty() && !to_line(finding).empty());
  }
  for (envgen::RankOrder order : {envgen::RankOrder::kPodIndex, envgen::RankOrder::kServerId}) {
    auto converted = envgen::convert(*envgen::RankTable::parse(text, "fuzz"), order);
    if (!converted) continue;
    check_converted(*converted, order);
    envgen::check_device_groups(converted->nodes);
  }
  return 0;
}
