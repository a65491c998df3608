#pragma once
// Search for duplicate names in a rank table; for ranktable*.cc only.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stable_sort.h"

namespace envgen::ranktable {

struct Named {
  std::string_view text;
  std::uint32_t index;  // index of the named row, owner or other item
  std::uint32_t hash = 0;
};

inline bool same(const Named& a, const Named& b) { return a.hash == b.hash && a.text == b.text; }

// Calls found(item, first) for each item that equals an earlier one. It uses a hash table, because
// sorting addresses of one network means comparing long prefixes.
template <class F>
void find_duplicates(std::vector<Named>& items, const F& found) {
  constexpr std::uint32_t kNobody = 0xFFFFFFFF;
  std::vector<std::uint32_t> places(std::bit_ceil(2 * items.size() + 1), kNobody);
  for (std::uint32_t at = 0; at < items.size(); ++at) {
    Named& item = items[at];
    item.hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(item.text));
    std::size_t place = item.hash & (places.size() - 1);
    while (places[place] != kNobody && !same(items[places[place]], item)) {
      place = (place + 1) & (places.size() - 1);
    }
    if (places[place] == kNobody) {
      places[place] = at;
    } else {
      found(item, items[places[place]]);
    }
  }
}

using Duplicates = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // index, first index

inline void add_duplicates(std::vector<Named> items, Duplicates& duplicates) {
  find_duplicates(items, [&](const Named& item, const Named& first) {
    duplicates.emplace_back(item.index, first.index);
  });
}

// Reports the duplicates in order of index.
template <class F>
void report_duplicates(Duplicates duplicates, const F& report) {
  base::stable_sort(duplicates, std::less());
  for (auto [index, first] : duplicates) report(index, first);
}

template <class F>
void each_duplicate(std::vector<Named> names, const F& report) {
  Duplicates duplicates;
  add_duplicates(std::move(names), duplicates);
  report_duplicates(std::move(duplicates), report);
}

}  // namespace envgen::ranktable
