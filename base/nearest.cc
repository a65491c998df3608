#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace base {
namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kEditEvery = 3;
constexpr std::size_t kShortestPart = 4;

std::string plain(std::string_view word) {
  std::string text = lowercased(word);
  std::ranges::replace(text, '_', '-');
  return text;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
  if (a.size() > kLongest || b.size() > kLongest) return most + 1;
  // A cheap test comes first: thousands of variables may be compared with all known words.
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  // Three rows of the table for optimal string alignment: those of the two previous characters of
  // `a`, and that of the current one.
  using Row = std::array<std::size_t, kLongest + 1>;
  Row before{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    const auto least = [&b](const Row& of) {
      return *std::min_element(of.begin(), of.begin() + std::ssize(b) + 1);
    };
    if (least(row) > most && least(last) > most) return most + 1;
  }
  return std::min(row[b.size()], most + 1);
}

std::string_view nearest_within(std::string_view word, std::span<const std::string_view> words,
                                std::size_t most) {
  const std::string typed = plain(word);
  std::string_view best;
  for (const std::string_view one : words) {
    if (one.empty()) continue;
    // A limit below the word's length: with as many edits as characters, any text would match.
    const std::size_t allowed = std::min(most, one.size() - 1);
    const std::size_t distance = edit_distance(typed, plain(one), allowed);
    if (distance > allowed) continue;
    best = one;
    if (distance == 0) break;
    most = distance - 1;
  }
  return best;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
  if (word.empty()) return {};
  const auto best = nearest_within(word, words, std::max<std::size_t>(word.size() / kEditEvery, 1));
  if (!best.empty() || word.size() < kShortestPart) return best;
  const std::string typed = plain(word);
  std::string_view whole;
  for (const std::string_view one : words) {
    if (plain(one).find(typed) == std::string::npos) continue;
    if (!whole.empty()) return {};
    whole = one;
  }
  return whole;
}

}  // namespace base
