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

base::Error refused(const Words& command) {
  auto result = without_shell_syntax(command, "vk");
  EXPECT_FALSE(result.has_value()) << command[0];
  return result ? base::Error() : result.error();
}

TEST(Command, TheBaseNameIsTheLastPart) {
  EXPECT_EQ(base_name("/opt/conda/bin/python"), "python");
  EXPECT_EQ(base_name("python"), "python");
  EXPECT_EQ(base_name("/opt/"), "");
}

TEST(Command, AVariableBeforeTheProgramNeedsAShell) {
  base::Error error = refused({"KEY=VALUE", "python3", "train.py"});
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

// bash -c has no conda function: the environment is named otherwise.
TEST(Command, AnActivationIsAdvisedByItsOption) {
  constexpr const char* kPlain =
      "use: --conda-env ml (TRAINIT_CONDA_ENV=ml) with the command: python t.py";
  EXPECT_EQ(refused({"conda", "activate", "ml;", "python", "t.py"}).fix, kPlain);
  EXPECT_EQ(refused({"conda", "activate", "ml", "&&", "python", "t.py"}).fix, kPlain);
  EXPECT_EQ(refused({"/opt/conda/bin/conda activate ml && python t.py"}).fix, kPlain);
  EXPECT_EQ(refused({"cd", "/w", "&&", "conda", "activate", "ml;", "A=1", "python", "t.py"}).fix,
            "use: --conda-env ml (TRAINIT_CONDA_ENV=ml) with the command: "
            "bash -c \"cd /w && A=1 python t.py\"");
  EXPECT_THAT(refused({"conda activate; python t.py"}).fix, HasSubstr("--conda-env base "));
  EXPECT_THAT(refused({"micromamba activate /e/ml; python t.py"}).fix,
              HasSubstr("--conda-env /e/ml "));
}

TEST(Command, AnActivationByCondasOwnFileIsLeftToTheShell) {
  for (const char* line :
       {". /opt/conda/etc/profile.d/conda.sh && conda activate ml && python t.py",
        "eval \"$(conda shell.bash hook)\"; conda activate ml; python t.py",
        "source activate ml; python t.py", "echo conda activate ml; python t.py",
        "conda list; python t.py"}) {
    EXPECT_THAT(refused({line}).fix, HasSubstr("use: bash -c ")) << line;
  }
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

TEST(Flag, IsFoundBeforeTheScriptAndInAShellsText) {
  auto value = [](std::vector<std::string> command) {
    const auto flag = find_flag(command, "torchrun", "--rdzv_endpoint");
    if (!flag) return std::string("(none)");
    EXPECT_EQ(command[flag->word].substr(flag->at, flag->text.size()), flag->text);
    return std::string(flag->text);
  };
  EXPECT_EQ(value({"torchrun", "--rdzv_endpoint=a:1", "x.py"}), "a:1");
  EXPECT_EQ(value({"torchrun", "--rdzv-endpoint", "a:1", "x.py"}), "a:1");
  EXPECT_EQ(value({"bash", "-c", "torchrun --rdzv-endpoint=\"a:1\"; true"}), "a:1");
  EXPECT_EQ(value({"bash", "-c", "(torchrun --rdzv_endpoint 'a:1')"}), "a:1");
  EXPECT_EQ(value({"torchrun", "--rdzv_endpoints=a", "--rdzv_endpoint"}), "(none)");
  EXPECT_EQ(value({"torchrun", "x.py", "--rdzv_endpoint=a:1"}), "(none)");
  EXPECT_EQ(value({"torchrun", "-m", "pkg.train", "--rdzv_endpoint=a:1"}), "(none)");
  EXPECT_EQ(value({"bash", "-c", "torchrun x.py; echo --rdzv_endpoint=a:1"}), "(none)");
  EXPECT_EQ(value({"bash", "-c", "python a.py && torchrun \\\n --rdzv_endpoint a:1 x.py"}), "a:1");
  EXPECT_EQ(value({"numactl", "-m", "0", "torchrun", "--t=a;b", "--rdzv_endpoint=a:1"}), "a:1");
}

TEST(Flag, OfAModuleIsBehindIt) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"python", "-m", "torch.distributed.run", "--nnodes", "2", "x.py"},
           {"bash", "-c", "python -mtorch.distributed.run --nnodes=2 x.py"}}) {
    const auto flag = find_flag(command, "torch.distributed.run", "--num_nodes --nnodes");
    ASSERT_TRUE(flag) << command[0];
    EXPECT_EQ(flag->text, "2");
  }
}

}  // namespace
}  // namespace envgen
