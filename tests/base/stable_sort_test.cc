#include "base/stable_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace base {
namespace {

struct Item {
  int key = 0;
  std::string name;

  bool operator==(const Item&) const = default;
};

TEST(StableSort, OrdersAsTheLibrarys) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  for (const std::size_t count : {0U, 1U, 2U, 3U, 17U, 1000U}) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back({static_cast<int>(random() % 10), std::to_string(i)});
    }
    std::vector<Item> expected = items;
    std::ranges::stable_sort(expected, {}, &Item::key);
    stable_sort(items, std::less(), &Item::key);
    EXPECT_EQ(items, expected);
    std::ranges::stable_sort(expected, std::ranges::greater(), &Item::key);
    stable_sort(items, std::ranges::greater(), &Item::key);
    EXPECT_EQ(items, expected);
  }
}

TEST(StableSort, MovesWhatCannotBeCopied) {
  std::vector<std::unique_ptr<int>> items;
  for (const int value : {3, 1, 2}) items.push_back(std::make_unique<int>(value));
  stable_sort(items, [](const auto& one, const auto& other) { return *one < *other; });
  EXPECT_EQ(*items[0] + 10 * *items[1] + 100 * *items[2], 321);
}

}  // namespace
}  // namespace base
