#include "init/report/resources.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"

namespace report {
namespace {

constexpr std::int64_t kKilo = 1024;
// Sums and products of values must not overflow, whatever the file has.
constexpr std::int64_t kMaxKib = 1LL << 42;
constexpr std::int64_t kMaxCpus = 100'000'000;

// Reads a number, or "-" as -1. Returns nullopt for any other text.
std::optional<std::int64_t> value_of(std::string_view word, std::int64_t most) {
  if (word == "-") return -1;
  const auto value = base::parse_count<std::int64_t>(word);
  return value && *value <= most ? value : std::nullopt;
}

std::int64_t bytes_of(std::int64_t kib) { return kib < 0 ? -1 : kib * kKilo; }

void add_point(UsePoints& points, std::int64_t at_ms, std::int64_t value) {
  if (value < 0) return;
  // The clock may have been set back.
  points.push_back({std::max(at_ms, points.empty() ? 0 : points.back().at_ms), value});
}

class ResourceReader {
 public:
  void read(const engine::TimelineEvent& event) {
    if (event.event == "start" && event.kind == "main") return start(event.task);
    if (event.event != "resources") return;
    const std::vector<std::string_view> parts = base::split(event.text, ',');
    const std::vector<std::string_view> words = base::words_of(parts[0]);
    if (words.size() != 3) return;
    const auto used = value_of(words[0], kMaxKib);
    const auto limit = value_of(words[1], kMaxKib);
    const auto age_ms = value_of(words[2], event.at_ms);
    if (!used || !limit || !age_ms) return;
    const std::int64_t at_ms = event.at_ms - std::max<std::int64_t>(*age_ms, 0);
    add_point(resources_.container_bytes, at_ms, bytes_of(*used));
    resources_.limit_bytes = bytes_of(*limit);
    for (std::size_t i = 1; i < parts.size(); ++i) add_rank(parts[i], at_ms);
  }

  Resources take() {
    for (auto& [name, rank] : ranks_) resources_.ranks.push_back(std::move(rank));
    // "rank-2" comes before "rank-10".
    const auto order = [](const RankUse& rank) { return std::pair(rank.name.size(), rank.name); };
    base::stable_sort(resources_.ranks, std::less(), order);
    return std::move(resources_);
  }

 private:
  // The timeline names a rank's start before the values of that start.
  void start(const std::string& name) {
    const auto rank = ranks_.find(name);
    if (rank == ranks_.end()) return;
    rank->second.memory_bytes.emplace_back();
    rank->second.cpu_hundredths.emplace_back();
  }

  void add_rank(std::string_view part, std::int64_t at_ms) {
    const std::vector<std::string_view> words = base::words_of(part);
    if (words.size() != 3) return;
    const auto memory = value_of(words[1], kMaxKib);
    const auto cpus = value_of(words[2], kMaxCpus);
    if (!memory || !cpus) return;
    const auto [place, is_new] = ranks_.try_emplace(std::string(words[0]));
    RankUse& rank = place->second;
    if (is_new) rank = {.name = place->first, .memory_bytes = {{}}, .cpu_hundredths = {{}}};
    add_point(rank.memory_bytes.back(), at_ms, bytes_of(*memory));
    add_point(rank.cpu_hundredths.back(), at_ms, *cpus);
  }

  std::map<std::string, RankUse> ranks_;
  Resources resources_;
};

}  // namespace

Resources resources_of(const std::vector<engine::TimelineEvent>& events) {
  ResourceReader reader;
  for (const engine::TimelineEvent& event : events) reader.read(event);
  return reader.take();
}

std::int64_t peak_of(const UsePoints& points) {
  std::int64_t peak = -1;
  for (const UsePoint& point : points) peak = std::max(peak, point.value);
  return peak;
}

std::int64_t peak_of(const std::vector<UsePoints>& starts) {
  std::int64_t peak = -1;
  for (const UsePoints& points : starts) peak = std::max(peak, peak_of(points));
  return peak;
}

UsePoints thinned(const UsePoints& points, std::size_t most) {
  most = std::max<std::size_t>(most, 1);
  if (points.size() <= most) return points;
  UsePoints kept;
  const std::size_t group = (points.size() + most - 1) / most;
  for (std::size_t i = 0; i < points.size(); i += group) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = first + static_cast<std::ptrdiff_t>(std::min(group, points.size() - i));
    kept.push_back(*std::max_element(first, end, [](const UsePoint& one, const UsePoint& other) {
      return one.value < other.value;
    }));
  }
  return kept;
}

}  // namespace report
