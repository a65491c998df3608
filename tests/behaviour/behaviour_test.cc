// The behaviour table, judged: trainit's own column by what is expected of it, each drop-in by the
// program whose place it takes, side by side on this machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>

#include "tests/behaviour/expected.h"
#include "tests/behaviour/rows.h"
#include "tests/rules/isolation.h"

namespace behaviour {

// In a failure's message.
void PrintTo(const Row& row, std::ostream* out) { *out << row.number << " " << row.title; }

}  // namespace behaviour

namespace {

using behaviour::Deviation;
using behaviour::Expected;
using behaviour::Init;
using behaviour::Kind;
using behaviour::Pair;
using behaviour::Row;

std::vector<Row> judged_rows() {
  std::vector<Row> judged;
  std::ranges::copy_if(behaviour::rows(), std::back_inserter(judged),
                       [](const Row& row) { return !row.timed; });
  return judged;
}

// The row's cells by their columns' titles. All columns at once, as most of the time goes by in
// waiting for what some inits never do; once for all the tests of the row.
const std::map<std::string, std::string>& cells(const Row& row) {
  static std::map<int, std::map<std::string, std::string>> measured;
  auto& cells_of_row = measured[row.number];
  if (!cells_of_row.empty()) return cells_of_row;
  const behaviour::ScratchDirectory links;
  std::vector<Init> inits = {behaviour::trainit()};
  for (const Pair& pair : behaviour::pairs(links.path())) {
    inits.push_back(pair.drop_in);
    if (pair.peer) inits.push_back(*pair.peer);
  }
  const std::vector<std::string> texts = behaviour::measure(row, inits);
  for (std::size_t i = 0; i < inits.size(); ++i) cells_of_row[inits[i].title] = texts[i];
  return cells_of_row;
}

class Behaviour : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (!rules::may_unshare()) GTEST_SKIP() << "may not make pid namespaces and mount here";
  }
  void expect_drop_in_is_as_peer(Kind kind) const;
};

void Behaviour::expect_drop_in_is_as_peer(Kind kind) const {
  const Row& row = GetParam();
  const auto deviations = behaviour::deviations();
  const auto deviation = std::ranges::find_if(deviations, [&](const Deviation& listed) {
    return listed.row == row.number && listed.kind == kind;
  });
  for (const Pair& pair : behaviour::pairs("")) {
    if (pair.drop_in.kind != kind) continue;
    if (!pair.peer) GTEST_SKIP() << pair.drop_in.title << ": the original is not installed";
    const std::string& text = cells(row).at(pair.drop_in.title);
    if (deviation != deviations.end() && text == deviation->text) continue;
    EXPECT_EQ(text, cells(row).at(pair.peer->title)) << pair.drop_in.title << ": " << row.title;
  }
}

TEST_P(Behaviour, OfTrainitIsAsExpected) {
  const Row& row = GetParam();
  const auto expected = behaviour::expected_of_trainit();
  const auto found = std::ranges::find(expected, row.number, &Expected::row);
  ASSERT_NE(found, expected.end()) << "nothing is expected of " << row.title;
  EXPECT_EQ(cells(row).at(behaviour::trainit().title), found->text)
      << row.title << ": " << found->why;
}

TEST_P(Behaviour, AsTiniIsTinis) { expect_drop_in_is_as_peer(Kind::kTini); }
TEST_P(Behaviour, AsDumbInitIsDumbInits) { expect_drop_in_is_as_peer(Kind::kDumbInit); }
TEST_P(Behaviour, AsCatatonitIsCatatonits) { expect_drop_in_is_as_peer(Kind::kCatatonit); }

std::string row_name(const testing::TestParamInfo<Row>& info) {
  return "Row" + std::to_string(info.param.number);
}
INSTANTIATE_TEST_SUITE_P(Table, Behaviour, testing::ValuesIn(judged_rows()), row_name);

}  // namespace
