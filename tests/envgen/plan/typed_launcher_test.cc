// Programs that start ranks, found in what a user typed.

#include "envgen/plan/typed_launcher.h"

#include <gtest/gtest.h>

namespace envgen {
namespace {

using Words = std::vector<std::string>;

struct Typed {
  Words command;
  std::string_view framework;
};

std::string text_of(const Words& command) {
  std::string text;
  for (const std::string& word : command) text += "[" + word + "]";
  return text;
}

TEST(TypedLauncher, IsOneOfTheTable) {
  const Typed cases[] = {
      {{"msrun", "--worker_num=8", "train.py"}, "ascend"},
      {{"python", "-m", "mindspore.parallel.cluster.run", "train.py"}, "ascend"},
      {{"python", "-m", "paddle.distributed.launch", "train.py"}, "paddle"},
      {{"python3", "-m", "paddle.distributed.fleet.launch", "train.py"}, "paddle"},
      {{"fleetrun", "train.py"}, "paddle"},
      {{"vllm", "serve", "model"}, "single"},
      {{"python", "-m", "vllm.entrypoints.openai.api_server"}, "single"},
      {{"llamafactory-cli", "train", "x.yaml"}, "pytorch"},
      {{"swift", "sft", "--model", "x"}, "pytorch"},
      {{"tune", "run", "recipe"}, "pytorch"},
      {{"tune", "ls"}, ""},
      {{"ray", "start", "--head"}, "single"},
      {{"ray", "stop"}, ""},
      {{"srun", "python", "x.py"}, "single"},
      {{"mpirun.openmpi", "-np", "2", "x"}, "mpi"},
      {{"mpiexec_bench.py"}, ""},
      {{"colossalai", "run", "x.py"}, "pytorch"},
      {{"deepspeed", "x.py"}, "deepspeed"},
      {{"python", "-m", "deepspeed.profiling"}, ""},
      {{"python", "-c", "import torchrun"}, ""},
      {{"python", "train.py", "torchrun"}, ""},
      {{}, ""},
  };
  for (const Typed& typed : cases) {
    EXPECT_EQ(framework_typed(typed.command), typed.framework) << text_of(typed.command);
  }
}

TEST(TypedLauncher, StandsBehindProgramsThatOnlyStartAnotherOne) {
  const Words prefixes[] = {{"env", "A=b", "-u", "C"},
                            {"timeout", "-k", "5", "1h"},
                            {"nohup"},
                            {"nice", "-n", "5"},
                            {"numactl", "-N", "0", "-m", "0"},
                            {"taskset", "-c", "0-7"},
                            {"env", "X=1", "nice", "stdbuf", "-oL"},
                            {"/usr/bin/time", "-v"},
                            {"uv", "run"}};
  for (Words command : prefixes) {
    command.insert(command.end(), {"/opt/bin/torchrun", "--nproc_per_node=8", "x.py"});
    EXPECT_EQ(framework_typed(command), "pytorch") << text_of(command);
  }
  EXPECT_EQ(framework_typed({"env", "A=b", "python", "train.py", "torchrun"}), "");
  EXPECT_EQ(framework_typed({"timeout", "60", "python", "-m", "torch.distributed.run", "x.py"}),
            "pytorch");
}

TEST(TypedLauncher, IsLookedForInTheTextOfAShell) {
  for (const char* text :
       {"torchrun x.py", "cd /job && exec torchrun x.py", "export A=1; torchrun x.py 2>&1 | tee l",
        "A=1 B='x y' torchrun x.py", "pip install -r r.txt\n torchrun x.py",
        "if true; then torchrun x.py; fi", "timeout 5 env A=b torchrun x.py",
        "source /opt/env.sh && nohup numactl -N 0 python -m torch.distributed.run x.py >log &",
        "(cd a; \"torchrun\" x.py)", "# first\ntorchrun x.py", "bash -ec 'torchrun x.py'",
        "trap 'x' TERM; torchrun \\\n --nproc_per_node=8 x.py", "$(which torchrun) x.py",
        "exec python `which torchrun` x.py", "python3 \"$(command -v torchrun)\" x.py",
        "eval torchrun x.py", "cd a && eval \"exec torchrun x.py\""}) {
    for (const char* option : {"-c", "-lc", "-ec", "-euxc"}) {
      EXPECT_EQ(framework_typed({"bash", option, text}), "pytorch") << text;
    }
  }
  EXPECT_EQ(framework_typed({"/bin/sh", "-e", "-c", "msrun train.py"}), "ascend");
  EXPECT_EQ(framework_typed({"env", "A=b", "bash", "-o", "pipefail", "-c", "vllm serve m"}),
            "single");
}

TEST(TypedLauncher, WhatOnlyNamesOneIsNone) {
  for (const char* text :
       {"python train.py torchrun", "echo torchrun", "which torchrun", "cat >torchrun",
        "T=$(which torchrun); python train.py", "test -n \"$(which torchrun)\" || exit 1",
        "$(which torchrun", "python $(which python3) torchrun", "eval", "eval eval eval",
        "python train.py # torchrun", "pip install torchrun", "ls 'torchrun x'", ""}) {
    EXPECT_EQ(framework_typed({"bash", "-c", text}), "") << text;
  }
  EXPECT_EQ(framework_typed({"bash", "torchrun"}), "");
  EXPECT_EQ(framework_typed({"bash"}), "");
}

TEST(TypedLauncher, AnEndlessNestingEnds) {
  Words command;
  for (int i = 0; i < 1000; ++i) command.insert(command.end(), {"env", "nice"});
  command.emplace_back("torchrun");
  EXPECT_EQ(framework_typed(command), "");
}

TEST(ShellScript, IsNamedWhereAShellWillReadIt) {
  EXPECT_EQ(shell_script({"bash", "run.sh", "8"}), "run.sh");
  EXPECT_EQ(shell_script({"sh", "-ex", "/job/start"}), "/job/start");
  EXPECT_EQ(shell_script({"./run.sh"}), "./run.sh");
  EXPECT_EQ(shell_script({"env", "A=b", "./run.sh"}), "./run.sh");
  EXPECT_EQ(shell_script({"bash", "-c", "cd /job && bash run.sh"}), "run.sh");
  EXPECT_EQ(shell_script({"bash", "-c", "python train.py"}), "");
  EXPECT_EQ(shell_script({"python", "run.sh"}), "");
  EXPECT_EQ(shell_script({"bash", "-c", "bash run.sh; torchrun x.py"}), "");
}

}  // namespace
}  // namespace envgen
