// Constant tables without addresses.

#include "base/constants/packed_texts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/constants/words.h"

namespace {

using base::PackedTable;
using base::words;
using testing::ElementsAre;

struct Row {
  std::string_view name;
  int number;
  std::string_view text;
};
constexpr Row kRows[] = {{"one", 1, "first of the rows"}, {"two", 2, ""}, {"of the", 3, "one"}};
constexpr PackedTable<kRows, &Row::name, &Row::text> kTable;

TEST(PackedTable, GivesItsRowsInTheirOrder) {
  std::vector<std::string> rows;
  for (const Row& row : kTable.all()) {
    rows.push_back(std::string(row.name) + " " + std::to_string(row.number) + " " +
                   std::string(row.text));
  }
  EXPECT_THAT(rows, ElementsAre("one 1 first of the rows", "two 2 ", "of the 3 one"));
  EXPECT_EQ(kTable[2].name, "of the");
}

TEST(Words, AreAListAsAnArrayIs) {
  static constexpr auto kWords = words("sh", "", "bash");
  EXPECT_THAT(std::vector<std::string>(kWords.begin(), kWords.end()),
              ElementsAre("sh", "", "bash"));
  EXPECT_EQ(kWords.size(), 3U);
  EXPECT_EQ(kWords[0], "sh");
  EXPECT_EQ(kWords[2], "bash");
  EXPECT_EQ(std::ranges::find(kWords, "bash") - kWords.begin(), 2);
  EXPECT_EQ(std::ranges::find(kWords, "zsh"), kWords.end());
}

}  // namespace
