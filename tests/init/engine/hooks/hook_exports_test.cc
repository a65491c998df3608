#include "init/engine/hooks/hook_exports.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

Words exports(std::string_view text) {
  const auto edits = parse_hook_exports(text);
  if (!edits) return {"error: " + to_line(edits.error())};
  Words words;
  for (const base::EnvEdit& edit : *edits) {
    EXPECT_EQ(edit.kind, base::EnvEdit::Kind::kSet);
    words.push_back(edit.name + "=" + edit.value);
  }
  return words;
}

std::string error(std::string_view text) {
  const auto edits = parse_hook_exports(text);
  return edits ? "no error" : to_line(edits.error());
}

TEST(HookExports, AreNoneInAnEmptyFile) {
  EXPECT_THAT(exports(""), IsEmpty());
  EXPECT_THAT(exports("\n\n"), IsEmpty());
}

TEST(HookExports, AreOnePerLineInTheirOrder) {
  EXPECT_THAT(exports("B=2\nA=1\nB=3\n"), ElementsAre("B=2", "A=1", "B=3"));
}

TEST(HookExports, KeepTheValueAsItStands) {
  EXPECT_THAT(exports("A= \"a b\" #c=d \t\nB=\nC=x<<y\nD=<<E\nE=$HOME\xff\r\n"),
              ElementsAre("A= \"a b\" #c=d \t", "B=", "C=x<<y", "D=<<E", "E=$HOME\xff\r"));
}

TEST(HookExports, NeedNoEndOfTheLastLine) {
  EXPECT_THAT(exports("A=1\nB=2"), ElementsAre("A=1", "B=2"));
}

TEST(HookExports, PassOverCommentsAndEmptyLines) {
  EXPECT_THAT(exports("# A=1\n\n#\nB=2\n\n"), ElementsAre("B=2"));
}

TEST(HookExports, TakeAValueOfSeveralLines) {
  EXPECT_THAT(exports("A<<END\nx=1\n\n#y\n END\nEND\nB=2\n"),
              ElementsAre("A=x=1\n\n#y\n END", "B=2"));
}

TEST(HookExports, TakeAValueOfNoAndOfOneEmptyLine) {
  EXPECT_THAT(exports("A<<END\nEND\nB<<END\n\nEND\nC<<E\n\n\nE"), ElementsAre("A=", "B=", "C=\n"));
}

TEST(HookExports, TakeAnyDelimiterWithAnEqualsSignToo) {
  EXPECT_THAT(exports("A<<a=b c\n1\na=b c\n"), ElementsAre("A=1"));
}

TEST(HookExports, RefuseALineWithoutEqualsByItsNumber) {
  EXPECT_THAT(error("A=1\n\nsecret words\n"),
              testing::AllOf(HasSubstr("$TRAINIT_ENV: line 3: found a line without '='"),
                             HasSubstr("NAME<<END"), Not(HasSubstr("secret"))));
}

TEST(HookExports, RefuseANameThatNoShellTakes) {
  for (const char* name : {"1A", "A-B", "A B", " A", "A ", "a.b", "\xc3\xa4"}) {
    EXPECT_THAT(error(std::string(name) + "=1"),
                HasSubstr("line 1: found the name \"" + std::string(name) + "\""));
  }
  EXPECT_THAT(error("=1"), HasSubstr("line 1: found no name before the '='"));
  EXPECT_THAT(error("A=1\nB C<<END\nEND\n"), HasSubstr("line 2: found the name \"B C\""));
  EXPECT_THAT(error("export A=1"), HasSubstr("line 1: found \"export\" before the name"));
}

TEST(HookExports, DoNotRepeatALongNameWhichMayBeAPieceOfAValue) {
  EXPECT_THAT(error(std::string(60, '/') + "=="),
              testing::AllOf(HasSubstr("line 1"), Not(HasSubstr("////"))));
}

TEST(HookExports, RefuseANulAnywhere) {
  using namespace std::string_view_literals;
  EXPECT_THAT(error("A=1\nB=\0\n"sv), HasSubstr("line 2: found a NUL byte"));
  EXPECT_THAT(error("A<<E\nx\n\0\nE\n"sv), HasSubstr("line 3: found a NUL byte"));
  EXPECT_THAT(error("\0"sv), HasSubstr("line 1: found a NUL byte"));
}

TEST(HookExports, RefuseAValueWithoutItsDelimiterByTheLineOfItsBeginning) {
  EXPECT_THAT(error("A=1\nB<<END\nx\nEND \n"),
              HasSubstr("line 2: found a value of several lines without an end"));
  EXPECT_THAT(error("B<<\nx\n\n"), HasSubstr("line 1: found nothing behind the <<"));
}

TEST(HookExports, RefuseAVariableThatLinuxTakesInNoEnvironment) {
  constexpr std::size_t kMax = 131'071;
  EXPECT_THAT(exports("A=" + std::string(kMax - 2, 'x')), testing::SizeIs(1));
  EXPECT_THAT(error("B=1\nA=" + std::string(kMax - 1, 'x')),
              testing::AllOf(HasSubstr("line 2: found A with 131072 bytes"), HasSubstr("a file")));
}

TEST(HookExports, RefuseAFileOfMoreThanAMegabyte) {
  const std::string line = "#" + std::string(1022, 'x') + "\n";
  std::string text;
  while (text.size() < kMaxExportBytes) text += line;
  EXPECT_THAT(exports(text), IsEmpty());
  EXPECT_THAT(error(text + "#"), HasSubstr("found more than 1048576 bytes"));
}

}  // namespace
}  // namespace engine
