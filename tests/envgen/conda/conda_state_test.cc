// env_vars.d and conda-meta/state: what is taken from them, and what is refused for which reason.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/conda/conda.h"

namespace envgen::conda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kWhere = "/p/conda-meta/state";

std::string state_error(std::string_view text) {
  Variables variables;
  auto status = add_state_variables(text, kWhere, variables);
  return status ? "no error" : to_line(status.error());
}

TEST(CondaState, TextOfAnyKindIsKept) {
  Variables variables;
  const char* text =
      R"({"env_vars": {"A": "two\nlines", "B": "'\"\\ $HOME `x`", "C": "", "D": "gr\u00fc\u00df"}})";
  ASSERT_TRUE(add_state_variables(text, kWhere, variables));
  EXPECT_EQ(variables["A"], "two\nlines");
  EXPECT_EQ(variables["B"], "'\"\\ $HOME `x`");
  EXPECT_EQ(variables["C"], "");
  EXPECT_EQ(variables["D"], "gr\xC3\xBC\xC3\x9F");
}

TEST(CondaState, OtherValuesAreWrittenAsPythonDoes) {
  Variables variables;
  ASSERT_TRUE(add_package_variables(R"({"A": 5, "B": true, "C": false, "D": null, "E": 1.5})",
                                    kWhere, variables));
  EXPECT_EQ(variables["A"], "5");
  EXPECT_EQ(variables["B"], "True");
  EXPECT_EQ(variables["C"], "False");
  EXPECT_EQ(variables["D"], std::nullopt);
  EXPECT_EQ(variables["E"], "1.5");
}

TEST(CondaState, WithoutVariablesIsFine) {
  for (const char* text : {"{}", R"({"version": 1})", R"({"env_vars": {}})"}) {
    EXPECT_EQ(state_error(text), "no error") << text;
  }
}

TEST(CondaState, ALaterFileOverwritesAnEarlierOne) {
  Variables variables;
  ASSERT_TRUE(add_package_variables(R"({"A": "1", "B": "1"})", "1.json", variables));
  ASSERT_TRUE(add_package_variables(R"({"A": "2"})", "2.json", variables));
  EXPECT_EQ(variables["A"], "2");
  EXPECT_EQ(variables["B"], "1");
}

TEST(CondaState, WhatIsWrongIsNamedWithItsPlace) {
  const struct {
    const char* text;
    const char* found;
  } cases[] = {
      {"", "empty"},
      {"{\"env_vars\": {\"A\": \"1\"}", "end of the text"},
      {"[]", "an array"},
      {R"({"env_vars": []})", "an array"},
      {R"({"env_vars": "A=1"})", "a string"},
      {R"({"env_vars": {"A": {"x": 1}}})", "an object"},
      {R"({"env_vars": {"A": ["x"]}})", "an array"},
      {R"({"env_vars": {"A": "x\u0000y"}})", "NUL"},
      {R"({"env_vars": {"": "x"}})", "the name \"\""},
      {R"({"env_vars": {"A=B": "x"}})", "A=B"},
      {"{\"env_vars\": {\"A\": \"\xff\"}}", "UTF-8"},
  };
  for (const auto& [text, found] : cases) {
    EXPECT_THAT(state_error(text), AllOf(HasSubstr(kWhere), HasSubstr(found))) << text;
  }
}

}  // namespace
}  // namespace envgen::conda
