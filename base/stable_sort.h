#pragma once
// Does the same as std::ranges::stable_sort for a vector, but all types share one sort function, so
// the program stays small. That function sorts indexes; each type only adds its comparison and a
// move.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace base {

// A comparison: returns true if the element at the index `one` precedes the one at `other`.
using ComparesPlaces = bool (*)(const void* context, std::uint32_t one, std::uint32_t other);

// Returns the indexes 0 to count - 1 in sorted order. Equal elements keep their order.
std::vector<std::uint32_t> stable_order(std::size_t count, ComparesPlaces before,
                                        const void* context);

template <class T, class Less, class Key = std::identity>
void stable_sort(std::vector<T>& items, Less less, Key key = {}) {
  const auto before = [&items, &less, &key](std::uint32_t one, std::uint32_t other) -> bool {
    return std::invoke(less, std::invoke(key, std::as_const(items[one])),
                       std::invoke(key, std::as_const(items[other])));
  };
  const std::vector<std::uint32_t> order = stable_order(
      items.size(),
      [](const void* context, std::uint32_t one, std::uint32_t other) {
        return (*static_cast<const decltype(before)*>(context))(one, other);
      },
      &before);
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const std::uint32_t place : order) sorted.push_back(std::move(items[place]));
  items = std::move(sorted);
}

}  // namespace base
