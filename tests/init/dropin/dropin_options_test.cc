// Options as glibc's getopt_long finds them.

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "init/dropin/options.h"

namespace {

using dropin::LongOption;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array kLong = {LongOption{"verbose", false, 'v'}, LongOption{"version", false, 'V'},
                              LongOption{"rewrite", true, 'r'}};
constexpr dropin::Syntax kAnyOrder{"vVr:", kLong, false};
constexpr dropin::Syntax kStopAtOperand{"vVr:", kLong, true};
constexpr dropin::Syntax kShortOnly{"vr:", {}, false};

struct Found {
  std::vector<std::string> options;  // "r=value"
  std::vector<std::string> operands;
  std::string error;
};

Found find(const dropin::Syntax& syntax, std::vector<std::string> words) {
  words.insert(words.begin(), "init");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  dropin::Options options(syntax, static_cast<int>(words.size()), argv.data());
  Found found;
  for (int letter = options.next(); letter != dropin::Options::kEnd; letter = options.next()) {
    if (letter == dropin::Options::kWrong) {
      found.error = options.error();
      return found;
    }
    std::string text(1, static_cast<char>(letter));
    if (options.argument() != nullptr) text += std::string("=") + options.argument();
    found.options.push_back(text);
  }
  for (char** operand = options.operands(); *operand != nullptr; ++operand) {
    found.operands.emplace_back(*operand);
  }
  return found;
}

TEST(DropinOptions, AreTakenOneByOne) {
  const Found found = find(kAnyOrder, {"-v", "-V", "prog", "arg"});
  EXPECT_THAT(found.options, ElementsAre("v", "V"));
  EXPECT_THAT(found.operands, ElementsAre("prog", "arg"));
}

TEST(DropinOptions, ShareADash) {
  EXPECT_THAT(find(kAnyOrder, {"-vVrx", "-vr", "y"}).options,
              ElementsAre("v", "V", "r=x", "v", "r=y"));
}

TEST(DropinOptions, AreFoundBehindOperandsToo) {
  const Found found = find(kAnyOrder, {"prog", "-v", "arg", "-r", "1", "--", "-V"});
  EXPECT_THAT(found.options, ElementsAre("v", "r=1"));
  EXPECT_THAT(found.operands, ElementsAre("prog", "arg", "-V"));
}

TEST(DropinOptions, EndAtTheFirstOperandWhereTheySay) {
  const Found found = find(kStopAtOperand, {"-v", "prog", "-V", "--", "x"});
  EXPECT_THAT(found.options, ElementsAre("v"));
  EXPECT_THAT(found.operands, ElementsAre("prog", "-V", "--", "x"));
}

TEST(DropinOptions, EndAtDoubleDashWhichIsTakenAway) {
  for (const auto& syntax : {kAnyOrder, kStopAtOperand}) {
    const Found found = find(syntax, {"-v", "--", "--", "-V"});
    EXPECT_THAT(found.options, ElementsAre("v"));
    EXPECT_THAT(found.operands, ElementsAre("--", "-V"));
  }
}

TEST(DropinOptions, TakeAnyWordAsTheirArgument) {
  EXPECT_THAT(find(kAnyOrder, {"-r", "--", "-r", "-v", "-r", ""}).options,
              ElementsAre("r=--", "r=-v", "r="));
}

TEST(DropinOptions, SeeADashAloneAsAnOperand) {
  EXPECT_THAT(find(kAnyOrder, {"-", "-v", ""}).operands, ElementsAre("-", ""));
}

TEST(DropinOptions, HaveLongNames) {
  const Found found = find(kAnyOrder, {"--verbose", "--rewrite", "1", "--rewrite=2", "--rewrite="});
  EXPECT_THAT(found.options, ElementsAre("v", "r=1", "r=2", "r="));
}

TEST(DropinOptions, HaveShortFormsOfLongNames) {
  EXPECT_THAT(find(kAnyOrder, {"--verb", "--vers", "--r=1"}).options, ElementsAre("v", "V", "r=1"));
}

TEST(DropinOptions, AreNotThereWithoutWords) {
  const Found found = find(kAnyOrder, {});
  EXPECT_THAT(found.options, IsEmpty());
  EXPECT_THAT(found.operands, IsEmpty());
}

struct Wrong {
  dropin::Syntax syntax;
  std::vector<std::string> words;
  std::string error;
};

TEST(DropinOptions, AreRefusedInGlibcsWords) {
  const std::vector<Wrong> cases = {
      {kAnyOrder, {"-q"}, "init: invalid option -- 'q'\n"},
      {kAnyOrder, {"-v:"}, "init: invalid option -- ':'\n"},
      {kShortOnly, {"--verbose"}, "init: invalid option -- '-'\n"},
      {kAnyOrder, {"-r"}, "init: option requires an argument -- 'r'\n"},
      {kAnyOrder, {"--rewrite"}, "init: option '--rewrite' requires an argument\n"},
      {kAnyOrder, {"--rew"}, "init: option '--rewrite' requires an argument\n"},
      {kAnyOrder, {"--yolo=1"}, "init: unrecognized option '--yolo=1'\n"},
      {kAnyOrder, {"--vers=1"}, "init: option '--version' doesn't allow an argument\n"},
      {kAnyOrder,
       {"--ver"},
       "init: option '--ver' is ambiguous; possibilities: '--verbose' '--version'\n"},
  };
  for (const Wrong& wrong : cases) EXPECT_EQ(find(wrong.syntax, wrong.words).error, wrong.error);
}

}  // namespace
