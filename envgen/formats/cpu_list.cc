#include "envgen/formats/cpu_list.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::size_t kWordDigits = 8;
constexpr int kWordBits = 32;

// Parses all of `text` as a number up to `last`.
std::optional<std::uint32_t> number(std::string_view text, int base, std::uint32_t last) {
  const auto value = base::parse_number<std::uint32_t>(text, base);
  return value && *value <= last ? value : std::nullopt;
}

}  // namespace

std::optional<CpuList> parse_cpu_list(std::string_view text) {
  constexpr std::uint32_t kLast = kMaxCpus - 1;
  CpuList cpus;
  text = base::trimmed(text);
  if (text.ends_with(',')) return std::nullopt;
  while (!text.empty()) {
    const std::string_view item = base::take_part(text, ',');
    const std::size_t dash = item.find('-');
    const auto first = number(item.substr(0, dash), 10, kLast);
    const auto last =
        dash == std::string_view::npos ? first : number(item.substr(dash + 1), 10, kLast);
    if (!first || !last || *last < *first) return std::nullopt;
    if (!cpus.empty() && static_cast<int>(*first) <= cpus.back()) return std::nullopt;
    for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::optional<CpuList> parse_cpu_mask(std::string_view text) {
  const auto words = static_cast<int>(std::ranges::count(text, ',')) + 1;
  if (text.ends_with(',') || words > kMaxCpus / kWordBits) return std::nullopt;
  CpuList cpus;
  for (int word = words - 1; word >= 0; --word) {
    const std::string_view digits = base::take_part(text, ',');
    const bool whole = digits.size() == kWordDigits;
    const bool highest = word == words - 1 && digits.size() < kWordDigits;
    const auto bits = number(digits, 16, UINT32_MAX);
    if (!bits || (!whole && !highest)) return std::nullopt;
    for (int bit = kWordBits - 1; bit >= 0; --bit) {
      if ((*bits >> bit & 1U) != 0) cpus.push_back(word * kWordBits + bit);
    }
  }
  std::ranges::reverse(cpus);
  return cpus;
}

std::string cpu_list_text(const CpuList& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < cpus.size() && cpus[i + 1] == cpus[i] + 1) ++i;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (i > first) text += '-' + std::to_string(cpus[i]);
  }
  return text;
}

CpuList common_cpus(const CpuList& one, const CpuList& other) {
  CpuList common;
  std::ranges::set_intersection(one, other, std::back_inserter(common));
  return common;
}

}  // namespace envgen
