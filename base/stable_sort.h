#pragma once
// std::ranges::stable_sort of a vector, as one sort in the program for all types: what is sorted
// are places, and each type adds its comparison and a move.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace envgen {

// Whether the element at one place stands before the one at another.
using ComparesPlaces = bool (*)(const void* context, std::uint32_t one, std::uint32_t other);

// The places 0 to count - 1 in their order; equal ones stay as they were.
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

}  // namespace envgen
