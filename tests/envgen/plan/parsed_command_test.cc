// What a command is: its Python program, and the launcher of ranks that it comes to.

#include "envgen/plan/parsed_command.h"

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
      {{"ft_launcher", "--nnodes", "1", "x.py"}, "pytorch"},
      {{"python", "-m", "determined.launch.torch_distributed", "--", "python", "x.py"}, "single"},
      {{"python", "-m", "oneflow.distributed.launch", "x.py"}, "single"},
      {{"srun", "python", "x.py"}, "single"},
      {{"mpirun.openmpi", "-np", "2", "x"}, "mpi"},
      {{"orterun", "-np", "8", "./train"}, "mpi"},
      {{"accelerate-launch", "train.py"}, "pytorch"},
      {{"mpiexec_bench.py"}, ""},
      {{"colossalai", "run", "x.py"}, "pytorch"},
      {{"deepspeed", "x.py"}, "deepspeed"},
      {{"python", "-m", "deepspeed.profiling"}, ""},
      {{"python", "-c", "import torchrun"}, ""},
      {{"python", "train.py", "torchrun"}, ""},
      {{}, ""},
  };
  for (const Typed& typed : cases) {
    EXPECT_EQ(ParsedCommand(typed.command).framework(), typed.framework) << text_of(typed.command);
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
    EXPECT_EQ(ParsedCommand(command).framework(), "pytorch") << text_of(command);
  }
  EXPECT_EQ(ParsedCommand(Words{"env", "A=b", "python", "train.py", "torchrun"}).framework(), "");
  EXPECT_EQ(ParsedCommand(Words{"timeout", "60", "python", "-m", "torch.distributed.run", "x.py"})
                .framework(),
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
      EXPECT_EQ(ParsedCommand(Words{"bash", option, text}).framework(), "pytorch") << text;
    }
  }
  EXPECT_EQ(ParsedCommand(Words{"/bin/sh", "-e", "-c", "msrun train.py"}).framework(), "ascend");
  EXPECT_EQ(ParsedCommand(Words{"env", "A=b", "bash", "-o", "pipefail", "-c", "vllm serve m"})
                .framework(),
            "single");
}

TEST(TypedLauncher, WhatOnlyNamesOneIsNone) {
  for (const char* text :
       {"python train.py torchrun", "echo torchrun", "which torchrun", "cat >torchrun",
        "T=$(which torchrun); python train.py", "test -n \"$(which torchrun)\" || exit 1",
        "$(which torchrun", "python $(which python3) torchrun", "eval", "eval eval eval",
        "python train.py # torchrun", "pip install torchrun", "ls 'torchrun x'", ""}) {
    EXPECT_EQ(ParsedCommand(Words{"bash", "-c", text}).framework(), "") << text;
  }
  EXPECT_EQ(ParsedCommand(Words{"bash", "torchrun"}).framework(), "");
  EXPECT_EQ(ParsedCommand(Words{"bash"}).framework(), "");
}

struct Python {
  Words command;
  std::size_t operand;
  char kind;  // 's'cript, 'm'odule, 'c' text, '-' none
  std::string_view letters;
};

TEST(PythonCommand, HasItsOperandBehindItsOptions) {
  const std::vector<Python> cases = {
      {{"python", "train.py"}, 1, 's', ""},
      {{"/usr/bin/python3.10", "-u", "train.py", "-m"}, 2, 's', "u"},
      {{"python3", "-W", "ignore", "-X", "dev", "train.py"}, 5, 's', "WX"},
      {{"python3", "-Wmodule", "train.py"}, 2, 's', "W"},
      {{"python", "-m", "torch.distributed.launch", "train.py"}, 2, 'm', ""},
      {{"python", "-um", "pkg"}, 2, 'm', "u"},
      {{"python", "-Bum", "pkg"}, 2, 'm', "Bu"},
      {{"python", "-uW", "m", "train.py"}, 3, 's', "uW"},
      {{"python", "-uWm", "train.py"}, 2, 's', "uW"},
      {{"python", "--", "-m"}, 2, 's', ""},
      {{"python", "-mpkg", "train.py"}, 2, 'm', ""},
      {{"python", "-ucprint()", "train.py"}, 2, 'c', "u"},
      {{"python", "-c", "print()"}, 2, 'c', ""},
      {{"python", "-"}, 1, 's', ""},
      {{"python"}, 0, '-', ""},
      {{"python", "-m"}, 0, '-', ""},
      {{"python-config", "x"}, 0, '-', ""},
      {{"torchrun", "train.py"}, 0, '-', ""},
      {{}, 0, '-', ""},
  };
  for (const Python& expected : cases) {
    const ParsedCommand command(expected.command);
    const std::string name = text_of(expected.command);
    EXPECT_EQ(command.typed(), expected.command) << name;
    ASSERT_EQ(command.python().has_value(), expected.kind != '-') << name;
    if (!command.python()) continue;
    EXPECT_EQ(command.python()->operand, expected.operand) << name;
    EXPECT_EQ(command.python()->module, expected.kind == 'm') << name;
    EXPECT_EQ(command.python()->text, expected.kind == 'c') << name;
    EXPECT_EQ(command.python()->letters, expected.letters) << name;
  }
}

// None of the programs before the launcher is in a list.
TEST(TypedLauncher, StandsBehindProgramsThatNobodyKnows) {
  const Words prefixes[] = {{"msprof"},
                            {"msprof", "--output=/x", "--"},
                            {"nsys", "profile", "-o", "x", "--trace", "cuda,nvtx"},
                            {"nsys", "profile", "--stats=true"},
                            {"ncu", "--target-processes", "all"},
                            {"rocprof", "--stats"},
                            {"strace", "-f"},
                            {"strace", "-ff", "-o", "log"},
                            {"gdb", "--args"},
                            {"perf", "record", "-g", "--"},
                            {"py-spy", "record", "--subprocesses", "-o", "x.svg", "--"},
                            {"uvx", "--from", "torch"},
                            {"pdm", "run"},
                            {"hatch", "run", "prod:x"},
                            {"singularity", "exec", "--nv", "image.sif"},
                            {"apptainer", "exec", "image.sif", "env", "A=b"},
                            {"enroot", "start", "--rw", "torch"},
                            {"chroot", "/rootfs"},
                            {"flock", "/tmp/lock"},
                            {"systemd-run", "--scope"},
                            {"site-wrapper"},
                            {"conda", "run", "-n", "deepspeed", "--no-capture-output"}};
  const Words launches[] = {{"torchrun", "--nproc_per_node=8", "x.py"},
                            {"/opt/bin/torchrun", "--standalone", "--nproc-per-node", "8", "x.py"},
                            {"python", "-m", "torch.distributed.run", "--nnodes", "1", "x.py"}};
  for (const Words& prefix : prefixes) {
    for (const Words& launch : launches) {
      Words command = prefix;
      command.insert(command.end(), launch.begin(), launch.end());
      const ParsedCommand parsed(command);
      EXPECT_EQ(parsed.framework(), "pytorch") << text_of(command);
      EXPECT_FALSE(parsed.is_launcher()) << text_of(command);
    }
  }
}

TEST(TypedLauncher, MayBeToldToAModuleOrInQuotes) {
  const Words commands[] = {
      {"python", "-m", "cProfile", "-m", "torch.distributed.run", "--nproc_per_node", "2", "x.py"},
      {"python3", "-u", "-m", "debugpy", "--listen", "5678", "/opt/bin/torchrun", "x.py"},
      {"python", "-mpdb", "-m", "torch.distributed.launch", "x.py"},
      {"nsys", "profile", "python", "-m", "cProfile", "-m", "torch.distributed.run", "x.py"},
      {"msprof", "--application=torchrun --nproc_per_node=8 x.py"},
      {"script", "-c", "torchrun x.py", "log"},
      {"script", "-qc", "env A=1 torchrun x.py", "/dev/null"},
      {"su", "-", "user", "-c", "cd /x && exec torchrun x.py"},
      {"uv", "run", "-m", "torch.distributed.run", "--nproc_per_node=2", "x.py"},
      {"coverage", "run", "-m", "torch.distributed.run", "x.py"},
      {"nsys", "profile", "bash", "-c", "cd /job && torchrun x.py"}};
  for (const Words& command : commands) {
    EXPECT_EQ(ParsedCommand(command).framework(), "pytorch") << text_of(command);
  }
}

TEST(TypedLauncher, IsWhoIsToldTheRanksOfANode) {
  for (const Words& command :
       std::vector<Words>{{"hyperpodrun", "--nproc_per_node=8", "x.py"},
                          {"/opt/site/launch", "--nnodes", "2", "--nproc-per-node", "8", "x.py"},
                          {"python", "-m", "site.launcher", "--nproc_per_node", "8", "x.py"}}) {
    const ParsedCommand parsed(command);
    EXPECT_EQ(parsed.framework(), "pytorch") << text_of(command);
    EXPECT_FALSE(parsed.launcher_name().empty()) << text_of(command);
  }
}

TEST(TypedLauncher, ANameAmongArgumentsIsNone) {
  for (const Words& command : std::vector<Words>{
           {"./train", "--backend", "deepspeed", "--epochs", "3"},
           {"./train", "--strategy", "deepspeed", "--script", "x.py"},
           {"pip", "install", "deepspeed", "accelerate"},
           {"pip", "install", "-U", "accelerate"},
           {"conda", "install", "-y", "deepspeed"},
           {"uv", "pip", "install", "deepspeed"},
           {"python", "-m", "pkg.train", "fit", "deepspeed", "--config", "c.json"},
           {"python", "-m", "pip", "install", "torchrun", "x.py"},
           {"python", "train.py", "-m", "torch.distributed.run"},
           {"bash", "-c", "echo torchrun x.py; pip install deepspeed; python train.py"},
           {"bash", "-c", "cp /opt/torchrun /usr/bin && python train.py"},
           {"./train", "--prompt", "how to run torchrun x.py"},
           {"nsys", "profile", "-o", "megatron", "python3", "train.py"},
           {"nsys", "profile", "-o", "/out/deepspeed", "python3", "train.py"},
           {"perf", "record", "-o", "/x/ds", "--", "python3", "train.py"},
           {"apptainer", "exec", "/images/megatron", "python3", "train.py"},
           {"su", "ds", "-c", "python3 train.py"},
           {"./train", "--output=/ckpt/deepspeed", "--config", "ds.json"},
           {"python3", "-m", "pkg.train", "--output_dir", "/ckpt/megatron", "--config", "c.yaml"},
           {"python3", "-m", "pkg.train", "--data", "s3://bucket/vllm", "--cfg", "a.yaml"},
           {"python3", "-m", "pkg.train", "--out", "/ckpt/ray", "start"},
           {"env", "OUT=/ckpt/deepspeed", "python3", "train.py"},
           {"env", "-C", "/opt/swift", "python3", "train.py"},
           {"gosu", "ds", "python3", "train.py"},
           {"torchrun", "--version"},
           {"bash", "-c", "vllm --version; accelerate env; srun --version; python3 train.py"},
           {"sudo", "-u", "ds", "python3", "train.py"},
           {"bash", "-c", "ls -l /usr/bin/mpirun /usr/bin/ssh; python3 train.py"},
           {"bash", "-c", "find / -name mpirun -print; python3 train.py"},
           {"bash", "-c", "grep -n torchrun launch.py; python3 train.py"},
           {"bash", "-c", "pkill -f 'torchrun train.py'; python3 train.py"},
           {"bash", "-c",
            "cp /cfg/deepspeed /job/ds.json; chown -R ds /job/c.yaml; python3 t.py"}}) {
    EXPECT_EQ(ParsedCommand(command).framework(), "") << text_of(command);
  }
}

TEST(TypedLauncher, IsInDoubtWhereNobodyCanTell) {
  EXPECT_EQ(ParsedCommand(Words{"bash", "run.sh"}).in_doubt(), "run.sh");
  EXPECT_EQ(ParsedCommand(Words{"nsys", "profile", "bash", "run.sh"}).in_doubt(), "run.sh");
  EXPECT_EQ(ParsedCommand(Words{"site", "./start.sh", "8"}).in_doubt(), "./start.sh");
  EXPECT_EQ(ParsedCommand(Words{"nsys", "profile", "torchrun", "train"}).in_doubt(), "torchrun");
  EXPECT_EQ(ParsedCommand(Words{"./train", "--strategy", "deepspeed"}).in_doubt(), "deepspeed");
  EXPECT_EQ(ParsedCommand(Words{"python", "-m", "site.launch", "x.py"}).in_doubt(), "site.launch");
  EXPECT_EQ(ParsedCommand(Words{"python", "run.py", "--nproc_per_node=8"}).in_doubt(), "run.py");
  EXPECT_EQ(ParsedCommand(Words{"./run.py", "--nproc_per_node", "8"}).in_doubt(), "./run.py");
  EXPECT_EQ(ParsedCommand(Words{"uv", "run", "x.py", "--nproc_per_node=8"}).in_doubt(), "x.py");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "python3 run.py --nproc_per_node 8"}).in_doubt(),
            "run.py");
  for (const char* text : {"source /opt/ascend/set_env.sh && python3 train.py",
                           ". conda.sh && conda activate x && python3 train.py",
                           "chmod +x /job/setup.sh && python3 train.py",
                           "ls /job/run.sh; pip install deepspeed; python3 train.py"}) {
    EXPECT_EQ(ParsedCommand(Words{"bash", "-c", text}).in_doubt(), "") << text;
  }
  EXPECT_EQ(ParsedCommand(Words{"./train", "--pre", "/job/hook.sh"}).shell_script(), "");
  EXPECT_EQ(ParsedCommand(Words{"axolotl", "train", "job.yml"}).in_doubt(), "job.yml");
  EXPECT_EQ(ParsedCommand(Words{"uv", "run", "trl", "sft", "--config=a.yaml"}).in_doubt(),
            "--config=a.yaml");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "cd /job && $CMD"}).in_doubt(), "$CMD");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "exec ${LAUNCHER} x.py"}).in_doubt(), "${LAUNCHER}");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "${PYTHON:-python3} x.py"}).in_doubt(), "");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "cp a.yml b; python x.py"}).in_doubt(), "");
  EXPECT_EQ(ParsedCommand(Words{"python", "train.py", "a.yml"}).in_doubt(), "");
  EXPECT_EQ(ParsedCommand(Words{"uv", "run", "train.py", "a.yml"}).in_doubt(), "");
  EXPECT_EQ(ParsedCommand(Words{"python", "train.py", "--lr", "1"}).in_doubt(), "");
  EXPECT_EQ(ParsedCommand(Words{"./train", "--lr", "1"}).in_doubt(), "");
}

TEST(WrappedPython, IsSeenBehindAnotherProgram) {
  for (const Words& command :
       std::vector<Words>{{"uv", "run", "train.py"},
                          {"uv", "run", "--with", "x", "train.py"},
                          {"uv", "run", "-m", "pkg.train"},
                          {"uv", "run", "--script", "train.py"},
                          {"uv", "run", "python", "train.py"},
                          {"pixi", "run", "train.py"},
                          {"poetry", "run", "python", "-m", "pkg"},
                          {"numactl", "-N", "0", "-m", "0", "python", "x.py"},
                          {"./train.py"}}) {
    EXPECT_TRUE(ParsedCommand(command).wraps_python()) << text_of(command);
  }
  for (const Words& command : std::vector<Words>{{"python", "train.py"},
                                                 {"numactl", "-m", "0", "./train"},
                                                 {"bash", "run.sh"},
                                                 {"torchrun", "x.py"}}) {
    EXPECT_FALSE(ParsedCommand(command).wraps_python()) << text_of(command);
  }
}

TEST(TypedLauncher, AnEndlessNestingEnds) {
  Words command;
  for (int i = 0; i < 1000; ++i) command.insert(command.end(), {"env", "nice"});
  command.emplace_back("torchrun");
  EXPECT_EQ(ParsedCommand(command).framework(), "");
}

TEST(InnerCommand, IsTheOneThatAPythonProgramIsToStart) {
  const struct {
    Words command;
    const char* inner;
  } cases[] = {
      {{"python", "run_ascend.py", "python", "train.py", "--lr", "1"}, "python train.py"},
      {{"/usr/bin/python3", "-u", "x.py", "/opt/bin/python3.10", "-u", "t.py"},
       "/opt/bin/python3.10 -u t.py"},
      {{"python", "x.py", "--", "python", "-m", "pkg.train"}, "python -m pkg.train"},
      {{"python", "x.py", "-n", "8", "env", "A=b", "python", "t.py"}, "python t.py"},
      {{"python", "x.py", "-n", "8", "--", "python", "t.py"}, "python t.py"},
      {{"python", "x.py", "bash", "train.sh", "8"}, "bash train.sh"},
      {{"python", "x.py", "bash", "-c", "cd /job && python t.py"},
       "bash -c cd /job && python t.py"},
      {{"python", "x.py", "torchrun", "--nproc-per-node", "2", "t.py"},
       "torchrun --nproc-per-node 2 t.py"},
      {{"python", "-m", "site.start", "python", "t.py"}, "python t.py"},
      {{"./run_ascend.py", "python", "t.py"}, "python t.py"},
      {{"uv", "run", "x.py", "python", "t.py"}, "python t.py"},
      {{"bash", "-c", "cd /job && python run_ascend.py python t.py"}, "python t.py"},
      {{"nohup", "python", "x.py", "python", "t.py"}, "python t.py"},
  };
  for (const auto& [command, inner] : cases) {
    EXPECT_EQ(ParsedCommand(command).inner_command(), inner) << text_of(command);
  }
}

// The name may be the value of an option: `--lang python`.
TEST(InnerCommand, BehindAnOptionIsOnlyADoubt) {
  for (const Words& command :
       std::vector<Words>{{"python", "x.py", "--verbose", "python", "t.py"},
                          {"python", "x.py", "--lang", "python", "humaneval.py"},
                          {"./x.py", "--shell", "bash", "prompts.sh"},
                          {"python", "x.py", "8", "python", "t.py"},
                          {"python", "x.py", "torchrun", "t.py"},
                          {"python", "x.py", "deepspeed", "--cfg", "configs/a.py"},
                          {"python", "x.py", "--langs", "java", "python", "-c", "cfg.yaml"}}) {
    const ParsedCommand parsed(command);
    EXPECT_EQ(parsed.inner_command(), "") << text_of(command);
    EXPECT_EQ(parsed.in_doubt(), "x.py") << text_of(command);
  }
}

// A shell may replace a pattern by many names of files.
TEST(InnerCommand, OfManyArgumentsIsFoundInOnePass) {
  Words command = {"python", "prepare.py"};
  for (int i = 0; i < 200'000; ++i) command.push_back("data/" + std::to_string(i) + ".parquet");
  EXPECT_EQ(ParsedCommand(command).inner_command(), "");
}

TEST(InnerCommand, IsNoArgumentThatOnlyNamesAProgram) {
  for (const Words& command : std::vector<Words>{{"python", "train.py"},
                                                 {"python", "train.py", "configs/a.py"},
                                                 {"python", "translate.py", "python", "java"},
                                                 {"python", "t.py", "--lang", "python"},
                                                 {"python", "t.py", "--lang", "python", "-c", "x"},
                                                 {"python", "t.py", "python", "--data", "x.py"},
                                                 {"python", "t.py", "--shell", "bash", "x"},
                                                 {"python", "t.py", "torchrun"},
                                                 {"python", "t.py", "hf", "vllm", "math.py"},
                                                 {"python", "t.py", "--by", "deepspeed", "x.py"},
                                                 {"python", "-m", "cProfile", "-o", "x", "t.py"},
                                                 {"python", "-c", "x", "python", "t.py"},
                                                 {"nsys", "profile", "python", "t.py"},
                                                 {"bash", "run.sh", "python", "t.py"}}) {
    EXPECT_EQ(ParsedCommand(command).inner_command(), "") << text_of(command);
  }
}

TEST(ShellScript, IsNamedWhereAShellWillReadIt) {
  EXPECT_EQ(ParsedCommand(Words{"bash", "run.sh", "8"}).shell_script(), "run.sh");
  EXPECT_EQ(ParsedCommand(Words{"sh", "-ex", "/job/start"}).shell_script(), "/job/start");
  EXPECT_EQ(ParsedCommand(Words{"./run.sh"}).shell_script(), "./run.sh");
  EXPECT_EQ(ParsedCommand(Words{"env", "A=b", "./run.sh"}).shell_script(), "./run.sh");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "cd /job && bash run.sh"}).shell_script(), "run.sh");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "python train.py"}).shell_script(), "");
  EXPECT_EQ(ParsedCommand(Words{"python", "run.sh"}).shell_script(), "");
  EXPECT_EQ(ParsedCommand(Words{"bash", "-c", "bash run.sh; torchrun x.py"}).shell_script(), "");
}

}  // namespace
}  // namespace envgen
