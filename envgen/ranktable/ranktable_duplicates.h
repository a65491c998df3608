#pragma once
// The search for duplicate names in a rank table. Only ranktable*.cc use it.

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
  std::uint32_t index;  // index of the named item (row, owner, super pod) in its list
  std::uint32_t hash = 0;
};

inline bool same(const Named& a, const Named& b) { return a.hash == b.hash && a.text == b.text; }

// Calls found(item, first) for each item that equals an earlier one, `first`. Uses a hash table.
// Sorting would compare addresses of one network, which begin alike, again and again.
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

// index of a duplicate, index of the first item that equals it
using Duplicates = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

inline void add_duplicates(std::vector<Named> items, Duplicates& duplicates) {
  find_duplicates(items, [&](const Named& item, const Named& first) {
    duplicates.emplace_back(item.index, first.index);
  });
}

// Calls `report` for each duplicate, in ascending order of index.
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
