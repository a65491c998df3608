#include "envgen/plan/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Words = std::vector<std::string>;

Words accepted(const Words& command) {
  auto result = without_shell_syntax(command, "vk");
  if (!result) ADD_FAILURE() << to_line(result.error());
  return result.value_or(Words());
}

Error refused(const Words& command) {
  auto result = without_shell_syntax(command, "vk");
  EXPECT_FALSE(result.has_value()) << command[0];
  return result ? Error() : result.error();
}

TEST(Command, TheBaseNameIsTheLastPart) {
  EXPECT_EQ(base_name("/opt/conda/bin/python"), "python");
  EXPECT_EQ(base_name("python"), "python");
  EXPECT_EQ(base_name("/opt/"), "");
}

TEST(Command, AVariableBeforeTheProgramNeedsAShell) {
  Error error = refused({"KEY=VALUE", "python3", "train.py"});
  EXPECT_EQ(error.fix, "use: bash -c \"KEY=VALUE python3 train.py\"");
  EXPECT_EQ(error.where, "platform vk");
  EXPECT_THAT(error.found, AllOf(HasSubstr("\"KEY=VALUE\""), HasSubstr("no program")));
}

TEST(Command, SeveralStatementsNeedAShell) {
  EXPECT_EQ(refused({"python3", "train.py", "&&", "python3", "evaluate.py"}).fix,
            "use: bash -c \"python3 train.py && python3 evaluate.py\"");
  EXPECT_EQ(refused({"KEY=VALUE", "python3", "train.py", "&&", "python3", "evaluate.py"}).fix,
            "use: bash -c \"KEY=VALUE python3 train.py && python3 evaluate.py\"");
  EXPECT_EQ(refused({"cd", "/data;", "python3", "train.py"}).fix,
            "use: bash -c \"cd /data; python3 train.py\"");
  for (const char* separator : {"&&", "||", ";", "|", "&"}) {
    EXPECT_THAT(refused({"a", separator, "b"}).found, HasSubstr('"' + std::string(separator)));
  }
}

TEST(Command, TheProposedLineMeansWhatWasTyped) {
  EXPECT_EQ(refused({"KEY=VALUE", "python", "-c", "print('a b')"}).fix,
            R"x(use: bash -c 'KEY=VALUE python -c "print('\''a b'\'')"')x");
  EXPECT_EQ(refused({"A=$B", "cmd"}).fix, "use: bash -c 'A=$B cmd'");
}

TEST(Command, ALineInOneArgumentIsReadLikeItsWords) {
  EXPECT_EQ(refused({"python3 train.py && python3 evaluate.py"}).fix,
            "use: bash -c \"python3 train.py && python3 evaluate.py\"");
  EXPECT_EQ(refused({"A=1 python3 train.py"}).fix, "use: bash -c \"A=1 python3 train.py\"");
}

TEST(Command, ALineInOneArgumentIsSplitWhereNoShellIsNeededForThat) {
  EXPECT_THAT(accepted({"python3 train.py --epochs 3"}),
              ElementsAre("python3", "train.py", "--epochs", "3"));
  EXPECT_THAT(accepted({" python3\ttrain.py\n"}), ElementsAre("python3", "train.py"));
  EXPECT_THAT(accepted({"python t.py --name=a_b,c:d@e%f+g^h"}), SizeIs(3));
}

TEST(Command, ALineInOneArgumentThatOnlyAShellCanSplitIsRefused) {
  EXPECT_EQ(refused({"python3 train.py --name 'a b'"}).fix,
            "use: bash -c \"python3 train.py --name 'a b'\"");
  for (const char* text :
       {"python t.py \"a b\"", "python t.py a\\ b", "python t.py $HOME", "python t.py *.txt",
        "python t.py `ls`", "python t.py (a)", "python t.py a&b", "python t.py ~/data",
        "python t.py {a,b}", "python t.py a>b", "python t.py [ab]", "python t.py #x"}) {
    EXPECT_THAT(refused({text}).fix, HasSubstr("use: bash -c ")) << text;
  }
}

TEST(Command, RedirectionsNeedAShell) {
  EXPECT_EQ(refused({"python3", "train.py", ">", "log", "2>&1"}).fix,
            "use: bash -c \"python3 train.py > log 2>&1\"");
  EXPECT_EQ(refused({"python3", "train.py", "2>/dev/null"}).fix,
            "use: bash -c \"python3 train.py 2>/dev/null\"");
  for (const char* word : {">", ">>", "<", "<<", "<<<", "2>", "2>&1", "1>>log", "&>", "&>>log",
                           ">&2", ">log", ">>log", "</data/in", ">/dev/null", "|&"}) {
    EXPECT_THAT(refused({"a", "b", word, "c"}).found, HasSubstr('"' + std::string(word) + '"'));
  }
}

TEST(Command, AnOperatorThatIsStuckToAWordNeedsAShell) {
  for (const char* word : {"&&python3", "||true", ";python3", "x;", "x&&"}) {
    EXPECT_THAT(refused({"python3", "train.py", word, "b"}).found,
                HasSubstr('"' + std::string(word) + '"'));
  }
  EXPECT_EQ(refused({"python3", "train.py;"}).fix, "use: bash -c \"python3 train.py;\"");
}

TEST(Command, ALineOfExportsGetsItsShellByItself) {
  EXPECT_THAT(accepted({"export", "PATH=/opt/envs/py/bin:$PATH;", "python", "train.py"}),
              ElementsAre("bash", "-c", "export PATH=/opt/envs/py/bin:$PATH; python train.py"));
  EXPECT_THAT(accepted({"export A=1 && python train.py"}),
              ElementsAre("bash", "-c", "export A=1 && python train.py"));
  EXPECT_THAT(accepted({"export", "A=x;", "python", "my train.py"}),
              ElementsAre("bash", "-c", "export A=x; python \"my train.py\""));
}

TEST(Command, WhatOnlyLooksLikeAShellsSyntaxStays) {
  const std::vector<Words> commands = {
      {"python", "train.py", "--filter=a&&b"},
      {"bash", "-c", "A=1 python train.py && python evaluate.py"},
      {"bash", "-c", "a;"},
      {"sh", "-c", "&&"},
      {"python", "train.py", "KEY=VALUE"},
      {"python", "-c", "a = 1; b = 2"},
      {"./a=b/run", "x"},
      {"1=2"},
      {"python", "train.py", "--pad-token", "<pad>", "--end", "</s>"},
      {"python", "train.py", "--filter", ">=0.5", "--range", "<3"},
      {"python", "train.py", "a > b", "first; second;"},
      {"export"},
      {" "},
      {""},
  };
  for (const Words& command : commands) EXPECT_EQ(accepted(command), command) << command[0];
}

TEST(Command, ABareScriptGetsItsInterpreter) {
  EXPECT_THAT(with_interpreter({"train.py", "--lr", "1"}, "python"),
              ElementsAre("python", "train.py", "--lr", "1"));
  EXPECT_THAT(with_interpreter({"/code/train.py"}, "/opt/python"),
              ElementsAre("/opt/python", "/code/train.py"));
  EXPECT_THAT(with_interpreter({"python", "train.py"}, "python3"),
              ElementsAre("python", "train.py"));
  EXPECT_THAT(with_interpreter({".py"}, "python"), ElementsAre(".py"));
  EXPECT_TRUE(with_interpreter({}, "python").empty());
}

}  // namespace
}  // namespace envgen
