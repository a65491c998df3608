#include "init/report/resources_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/stable_sort.h"
#include "init/report/curves_svg.h"

namespace report {
namespace {

constexpr std::size_t kMaxRanks = 64;
constexpr std::size_t kMaxPoints = 10'000;  // limit for all ranks together
// A limit far above all values is not drawn: it would make them a flat line at the bottom.
constexpr std::int64_t kDrawnLimit = 4;

struct ShownRank {
  std::string name;
  const std::vector<UsePoints>* starts = nullptr;
  std::int64_t peak = 0;
};

std::string on_node(const Summary& summary, const NodeSummary& node) {
  return summary.nodes.size() > 1 ? " (node " + std::to_string(node.chart.node) + ")" : "";
}

// Returns the ranks of all nodes with a value, at most `kMaxRanks`, the highest peaks first.
std::vector<ShownRank> shown_ranks(const Summary& summary,
                                   std::vector<UsePoints> RankUse::* starts) {
  std::vector<ShownRank> ranks;
  for (const NodeSummary& node : summary.nodes) {
    for (const RankUse& rank : node.chart.resources.ranks) {
      const std::int64_t peak = peak_of(rank.*starts);
      if (peak < 0) continue;
      ranks.push_back({rank.name + on_node(summary, node), &(rank.*starts), peak});
    }
  }
  if (ranks.size() <= kMaxRanks) return ranks;
  base::stable_sort(ranks, std::greater(), &ShownRank::peak);
  ranks.resize(kMaxRanks);
  return ranks;
}

void add_ranks(CurvePicture& picture, const std::vector<ShownRank>& ranks) {
  std::size_t starts = 0;
  for (const ShownRank& rank : ranks) starts += rank.starts->size();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    picture.high = std::max(picture.high, ranks[i].peak);
    for (const UsePoints& points : *ranks[i].starts) {
      if (points.empty()) continue;
      picture.curves.push_back({curve_style(i),
                                ranks[i].name + ": at most " + picture.value_text(peak_of(points)),
                                thinned(points, kMaxPoints / starts)});
    }
  }
}

void add_containers(CurvePicture& picture, const Summary& summary) {
  for (const NodeSummary& node : summary.nodes) {
    const UsePoints& points = node.chart.resources.container_bytes;
    if (points.empty()) continue;
    const std::int64_t peak = peak_of(points);
    picture.high = std::max(picture.high, peak);
    picture.curves.push_back(
        {"steps container", "container" + on_node(summary, node) + ": at most " + memory_text(peak),
         thinned(points, kMaxPoints / summary.nodes.size())});
  }
  const std::int64_t most = picture.high * kDrawnLimit;
  for (const NodeSummary& node : summary.nodes) {
    const std::int64_t limit = node.chart.resources.limit_bytes;
    if (limit <= 0 || limit > most) continue;
    picture.high = std::max(picture.high, limit);
    picture.limits.push_back({limit, "memory limit of the container" + on_node(summary, node) +
                                         ": " + memory_text(limit)});
  }
}

// Returns a power of two, so that each line of the grid has a round size.
std::int64_t memory_grid(std::int64_t high) {
  constexpr std::int64_t kMaxLines = 5;
  std::int64_t distance = 1;
  while (high / distance > kMaxLines) distance *= 2;
  return distance;
}

// Returns hundredths as "1.5", "2" or "0.25".
std::string cpus_text(std::int64_t hundredths) {
  std::string text = std::to_string(hundredths / 100);
  const std::int64_t rest = hundredths % 100;
  if (rest == 0) return text;
  text += rest < 10 ? ".0" : ".";
  return text + std::to_string(rest % 10 == 0 && rest >= 10 ? rest / 10 : rest);
}

}  // namespace

std::string memory_svg_of(const Summary& summary) {
  CurvePicture picture{.label = "memory over time", .value_text = memory_text};
  add_ranks(picture, shown_ranks(summary, &RankUse::memory_bytes));
  add_containers(picture, summary);
  if (picture.curves.empty()) return "";
  picture.grid = memory_grid(picture.high);
  return curves_svg_of(summary, picture);
}

std::string cpu_svg_of(const Summary& summary) {
  CurvePicture picture{.label = "CPUs in use over time", .value_text = cpus_text};
  add_ranks(picture, shown_ranks(summary, &RankUse::cpu_hundredths));
  if (picture.curves.empty()) return "";
  picture.grid = grid_of(picture.high);
  return curves_svg_of(summary, picture);
}

}  // namespace report
