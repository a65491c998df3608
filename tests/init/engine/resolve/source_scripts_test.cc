#include "init/engine/resolve/source_scripts.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "init/cli/commands.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "tests/init/child.h"
#include "tests/test_timeout.h"

namespace engine {
namespace {

using base::EnvEdit;
using base::Environ;
using envgen::Plan;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

// The shell becomes the program that runs: this one, as `trainit print-environment FD`.
const bool kPrintsEnvironment = [] {
  const std::string line = child::Scratch::read("/proc/self/cmdline");
  const std::string word = std::string("\0print-environment\0", 19);
  const std::size_t at = line.find(word);
  if (at == std::string::npos) return false;
  Words entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  const Words arguments = {"print-environment",
                           line.substr(at + word.size(), line.size() - at - word.size() - 1)};
  ::_exit(cli::run_tool(arguments, Environ(entries)));
}();

class SourceScripts : public child::Scratch, public testing::WithParamInterface<const char*> {
 protected:
  SourceScripts() {
    plan_.shell = GetParam();
    base_ = Environ({"PATH=/usr/bin:/bin", "HOME=/root"});
  }
  void SetUp() override {
    if (::access(GetParam(), X_OK) != 0) GTEST_SKIP() << "there is no " << GetParam();
  }

  void script(const std::string& name, const std::string& text) {
    plan_.scripts.push_back(write(name, text));
  }
  void leave_script(const std::string& name, const std::string& text) {
    plan_.leave_scripts.push_back(write(name, text));
  }
  // "NAME=value" for a kSet, "NAME" for a kUnset.
  Words edits(std::int64_t timeout_ms = 180'000) {
    Plan plan = plan_;
    auto result = source_scripts(plan, base_, timeout_ms);
    if (!result) ADD_FAILURE() << to_line(result.error());
    if (!result) return {};
    EXPECT_TRUE(std::ranges::equal(plan_.env, std::span(plan.env).first(plan_.env.size())));
    Words texts;
    for (const EnvEdit& edit : std::span(plan.env).subspan(plan_.env.size())) {
      const bool unset = edit.kind == EnvEdit::Kind::kUnset;
      EXPECT_TRUE(unset || edit.kind == EnvEdit::Kind::kSet);
      texts.push_back(unset ? edit.name : edit.name + "=" + edit.value);
    }
    return texts;
  }
  std::string error(std::int64_t timeout_ms = 180'000) {
    Plan plan = plan_;
    auto result = source_scripts(plan, base_, timeout_ms);
    return result ? "no error" : to_line(result.error());
  }

  Plan plan_;
  Environ base_;
};
INSTANTIATE_TEST_SUITE_P(In, SourceScripts, testing::Values("/bin/bash", "/bin/sh"),
                         [](const auto& shell) {
                           return std::string(shell.param).substr(5) == "sh" ? "Sh" : "Bash";
                         });

TEST_P(SourceScripts, WithoutScriptsStartsNothing) {
  plan_.shell = "/no/such/shell";
  EXPECT_THAT(edits(), IsEmpty());
}

TEST_P(SourceScripts, WithoutAShellStartsNothing) {
  script("a.sh", "exit 1");
  plan_.shell.clear();
  EXPECT_THAT(edits(), IsEmpty());
}

TEST_P(SourceScripts, TellsWhatWasSetChangedAndUnset) {
  base_.set("OLD", "1");
  base_.set("GONE", "1");
  base_.set("SAME", "1");
  script("a.sh", "export NEW=n OLD=2 SAME=1\nunset GONE\nNOT_EXPORTED=x\n");
  EXPECT_THAT(edits(), ElementsAre("GONE", "NEW=n", "OLD=2"));
}

TEST_P(SourceScripts, ScriptsThatDoNothingChangeNothing) {
  script("a.sh", "cd /tmp; :");
  EXPECT_THAT(edits(), IsEmpty());
}

TEST_P(SourceScripts, RunsInOrderInOneShell) {
  script("a.sh", "STEP=a\n");
  script("b.sh", "export STEPS=${STEP}b\n");
  EXPECT_THAT(edits(), ElementsAre("STEPS=ab"));
}

TEST_P(SourceScripts, SeesThePlansEnvironment) {
  plan_.env = {{EnvEdit::Kind::kSet, "CONDA_PREFIX", "/p"}, {EnvEdit::Kind::kUnset, "HOME", ""}};
  script("a.sh", "export SEEN=$CONDA_PREFIX-${HOME-none}\n");
  EXPECT_THAT(edits(), ElementsAre("SEEN=/p-none"));
}

TEST_P(SourceScripts, AnyByteSurvives) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  base_.set("ALL", all);
  script("odd name's \"$x\".sh", "export COPY=\"$ALL\" LINES=\"a\nb\n\"\n");
  EXPECT_THAT(edits(), ElementsAre("COPY=" + all, "LINES=a\nb\n"));
}

TEST_P(SourceScripts, LargeValuesSurvive) {
  script("a.sh",
         "v=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do v=$v$v; done\n"
         "export A=$v B=$v C=$v D=$v\n");
  const Words texts = edits();
  ASSERT_EQ(texts.size(), 4U);
  EXPECT_EQ(texts[3].size(), 2 + (16U << 12));
}

TEST_P(SourceScripts, NamesThatNoShellKnowsAreLeftAlone) {
  base_ = Environ({"PATH=/usr/bin:/bin", "BATCH_JOB.0_HOSTS=a", "odd", "A=1", "A=2"});
  script("a.sh", "export B=1\n");
  EXPECT_THAT(edits(), ElementsAre("B=1"));
}

TEST_P(SourceScripts, AFailingScriptIsNoError) {
  script("a.sh", "export A=1\nreturn 3\n");
  script("b.sh", "export B=1\nfalse\n");
  script("c.sh", "export C=1\n");
  EXPECT_THAT(edits(), ElementsAre("A=1", "B=1", "C=1"));
}

TEST_P(SourceScripts, AScriptThatExitsIsNamed) {
  script("good.sh", ":");
  script("bad.sh", "exit 7");
  script("after.sh", ":");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("/bad.sh"), HasSubstr("exit code 7"), Not(HasSubstr("good"))));
}

TEST_P(SourceScripts, AScriptThatIsKilledIsNamed) {
  script("bad.sh", "kill -KILL $$");
  EXPECT_THAT(error(), AllOf(HasSubstr("/bad.sh"), HasSubstr("SIGKILL")));
}

TEST_P(SourceScripts, AScriptThatHangsIsNamedAndKilledWithAllItStarted) {
  ::mkfifo(path("alive").c_str(), 0600);
  const sys::Fd alive(::open(path("alive").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  script("hangs.sh", "exec 8> " + path("alive") + "\necho up >&8\nsleep 1000 &\nwait\n");
  // The shell may need more time for its line.
  for (const int seconds : {3, 12, 48}) {
    const std::string found = "no end after " + std::to_string(seconds) + " s";
    EXPECT_THAT(error(seconds * 1000), AllOf(HasSubstr("/hangs.sh"), HasSubstr(found)));
    pollfd ready{alive.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) break;
  }
  EXPECT_EQ(child::read_to_end(alive.get()), "up\n") << "the sleeper has ended";
}

TEST_P(SourceScripts, WhatAScriptLeavesRunningIsNotWaitedFor) {
  const std::string pid_file = path("pid");
  script("daemon.sh", "sleep 1000 &\necho $! > " + pid_file + "\nexport A=1\n");
  const std::int64_t start = sys::monotonic_ms();
  EXPECT_THAT(edits(), ElementsAre("A=1"));
  EXPECT_LT(sys::monotonic_ms() - start, kAtOnceMs);
  ::kill(std::stoi(read(pid_file)), SIGKILL);
}

TEST_P(SourceScripts, StdinIsEmptyAndStdoutIsNotTheJobs) {
  script("a.sh", "echo said; read line; export LINE=x$line\n");
  const child::Outcome outcome = child::run([this] {
    for (const std::string& text : edits()) std::printf("%s\n", text.c_str());
    return 0;
  });
  EXPECT_EQ(outcome.out, "LINE=x\n");
  EXPECT_THAT(outcome.err, HasSubstr("said"));
}

TEST_P(SourceScripts, ScriptsGetNoDescriptorOfOurs) {
  const child::Pipe pipe = child::make_pipe();
  script("a.sh", "export FDS=\"$(ls /proc/self/fd | tr '\\n' ' ')\"\n");
  // 9 and 64 are the report's, 65 is our program, 3 (or what is free) is the directory that ls
  // reads.
  const Words texts = edits();
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_EQ(texts[0], "FDS=0 1 2 3 64 65 9 ");
}

// As flock's manual page has it.
TEST_P(SourceScripts, AScriptThatTakesTheReportsDescriptorGetsNoSecret) {
  base_.set("TOKEN", "secret");
  const std::string file = path("lock");
  script("locks.sh", "exec 9>" + file + "\nexport A=1\n");
  script("after.sh", "export B=1\n");
  EXPECT_THAT(edits(), ElementsAre("A=1", "B=1"));
  EXPECT_THAT(read(file), Not(HasSubstr("secret")));
}

TEST_P(SourceScripts, AScriptThatClosesTheReportsDescriptorIsNoError) {
  script("closes.sh", "exec 9>&-\nset -e\nexport A=1\n");
  script("after.sh", "export B=1\n");
  EXPECT_THAT(edits(), ElementsAre("A=1", "B=1"));
}

TEST_P(SourceScripts, LeavingComesBeforeThePlan) {
  base_.set("CONDA_PREFIX", "/old");
  base_.set("CC", "cc");
  plan_.env = {{EnvEdit::Kind::kSet, "CONDA_PREFIX", "/new"},
               {EnvEdit::Kind::kSet, "BOTH", "plan"}};
  leave_script("deactivate.sh", "export LEFT=$CONDA_PREFIX BOTH=script\nunset CC\n");
  script("activate.sh", "export ENTERED=$CONDA_PREFIX-${CC-none}-$BOTH\n");
  EXPECT_THAT(edits(), ElementsAre("CC", "ENTERED=/new-none-plan", "LEFT=/old"));
}

TEST_P(SourceScripts, LeavingAloneIsDoneToo) {
  base_.set("A", "1");
  leave_script("deactivate.sh", "unset A\n");
  EXPECT_THAT(edits(), ElementsAre("A"));
}

TEST_P(SourceScripts, TheShellDoesNotRunWithThePlansLibraries) {
  base_.set("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64");
  plan_.env = {{EnvEdit::Kind::kSet, "LD_LIBRARY_PATH", "/usr/local/nvidia/lib64:/p/lib"}};
  script("a.sh", "export SEEN=$LD_LIBRARY_PATH\n");
  EXPECT_THAT(edits(), ElementsAre("SEEN=/usr/local/nvidia/lib64"));
}

TEST_P(SourceScripts, LibrariesOfScriptsAndPlanAreBothKept) {
  base_.set("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64");
  plan_.env = {{EnvEdit::Kind::kSet, "LD_LIBRARY_PATH", "/usr/local/nvidia/lib64:/p/lib"}};
  script("set_env.sh", "export LD_LIBRARY_PATH=/tool/lib:$LD_LIBRARY_PATH\n");
  EXPECT_THAT(edits(), ElementsAre("LD_LIBRARY_PATH=/tool/lib:/usr/local/nvidia/lib64:/p/lib"));
}

TEST_P(SourceScripts, AShellThatIsNotThereIsAnError) {
  plan_.shell = "/no/such/shell";
  script("a.sh", ":");
  EXPECT_THAT(error(), HasSubstr("exit code 127"));
}

// A shell's start-up file is the job's, and no part of what is sourced. bash alone reads one.
class StartUpFile : public SourceScripts {
 protected:
  StartUpFile() {
    plan_.env = {{EnvEdit::Kind::kSet, "PATH", "/p/bin:/usr/bin:/bin"},
                 {EnvEdit::Kind::kSet, "CONDA_PREFIX", "/p"}};
  }
  void SetUp() override {
    SourceScripts::SetUp();
    if (::access("/bin/bash", X_OK) != 0) GTEST_SKIP() << "there is no bash";
  }
  void startup_file(const std::string& text) {
    file_ = write("startup.sh", text);
    base_.set("BASH_ENV", file_);
    base_.set("ENV", file_);
  }
  struct Outcome {
    std::string edits;
    std::string log;
  };
  // A bash that stands still for five seconds is taken for one that hangs: then another one is
  // started.
  Outcome outcome() {
    constexpr int kTries = 5;
    Outcome seen = outcome_within(180'000);
    for (int i = 1; i < kTries && seen.log.contains("no end after"); ++i) {
      seen = outcome_within(180'000);
    }
    return seen;
  }
  Outcome outcome_within(std::int64_t timeout_ms) {
    const child::Outcome outcome = child::run([this, timeout_ms] {
      sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
      for (const std::string& text : edits(timeout_ms)) std::printf("%s\n", text.c_str());
      return 0;
    });
    return {outcome.out, outcome.err};
  }

  void command(Words argv) {
    plan_.processes.resize(1);
    plan_.processes[0].argv = std::move(argv);
  }

  std::string file_;
};
INSTANTIATE_TEST_SUITE_P(In, StartUpFile, testing::Values("/bin/bash", "/bin/sh"),
                         [](const auto& shell) {
                           return std::string(shell.param).substr(5) == "sh" ? "Sh" : "Bash";
                         });

TEST_P(StartUpFile, IsNotReadBeforeTheScripts) {
  startup_file("export PATH=/usr/bin:/bin CONDA_PREFIX=/old EXTRA=1\necho said\n");
  script("a.sh", "export SEEN=$CONDA_PREFIX-$PATH KEPT=$BASH_ENV$ENV\n");
  const Outcome seen = outcome();
  EXPECT_EQ(seen.edits, "KEPT=" + file_ + file_ + "\nSEEN=/p-/p/bin:/usr/bin:/bin\n");
  EXPECT_THAT(seen.log, Not(HasSubstr("said")));
}

TEST_P(StartUpFile, ThatUndoesThePlanIsNamedWithWhatItChanges) {
  command({"bash", "run.sh"});
  startup_file("export PATH=/usr/bin:/bin CONDA_PREFIX=/p EXTRA=1\n");
  EXPECT_THAT(outcome().log, AllOf(HasSubstr("BASH_ENV=" + file_), HasSubstr("changes PATH"),
                                   Not(HasSubstr("CONDA_PREFIX")), Not(HasSubstr("EXTRA"))));
  startup_file("unset CONDA_PREFIX\n");
  EXPECT_THAT(outcome().log, AllOf(HasSubstr("CONDA_PREFIX"), Not(HasSubstr(" PATH"))));
}

// MASTER_ADDR of a job of several nodes, say, for the torchrun that the script starts.
TEST_P(StartUpFile, ThatUndoesWhatTheProcessIsToldIsNamed) {
  command({"bash", "run.sh"});
  plan_.env = {};
  plan_.processes[0].env = {{EnvEdit::Kind::kSet, "MASTER_ADDR", "10.0.0.1"},
                            {EnvEdit::Kind::kSet, "MASTER_PORT", "29500"},
                            {EnvEdit::Kind::kSet, "PYTHONPATH", "/hook"}};
  plan_.processes[0].env.push_back({EnvEdit::Kind::kUnset, "RANK", ""});
  startup_file(
      "export MASTER_ADDR=localhost MASTER_PORT=129500 PYTHONPATH=/a:$PYTHONPATH RANK=7\n");
  EXPECT_THAT(outcome().log, HasSubstr("changes MASTER_ADDR, MASTER_PORT, RANK of the plan"));
}

TEST_P(StartUpFile, ThatUndoesAScriptIsNamed) {
  command({"env", "A=1", "/bin/bash", "run.sh"});
  startup_file("export FROM_SCRIPT=2\n");
  script("a.sh", "export FROM_SCRIPT=1\n");
  EXPECT_THAT(outcome().log, HasSubstr("changes FROM_SCRIPT"));
}

TEST_P(StartUpFile, ThatUndoesThePlanIsNamedForAScriptThatBashRuns) {
  startup_file("export PATH=/usr/bin:/bin\n");
  write("run.sh", "#!/usr/bin/env bash\n");
  command({"./run.sh"});
  plan_.processes[0].cwd = path("");
  EXPECT_THAT(outcome().log, HasSubstr("changes PATH"));
  command({"sh", "./run.sh"});
  EXPECT_EQ(outcome().log, "");
  write("run.sh", "#!/bin/sh\n");
  EXPECT_EQ(outcome().log, "");
}

TEST_P(StartUpFile, ThatAddsBehindWhatIsPlannedIsNot) {
  command({"bash", "run.sh"});
  startup_file("export PATH=$PATH:/opt/tools EXTRA=1\n");
  EXPECT_EQ(outcome().log, "");
}

TEST_P(StartUpFile, IsNotStartedForAJobWithoutBash) {
  command({"python3", "train.py"});
  startup_file("touch " + path("read") + "\nbash -c true\n");
  EXPECT_EQ(outcome().log, "");
  EXPECT_NE(::access(path("read").c_str(), F_OK), 0);
}

TEST_P(StartUpFile, ThatHangsBelowAScriptIsPartOfTheAdvice) {
  startup_file("sleep 1000\n");
  script("a.sh", "X=$(bash -c 'echo 1')\n");
  std::string found;
  // The shell may need more time for its line.
  for (const int limit_ms : {3000, 12'000, 48'000}) {
    found = error(limit_ms);
    if (found.contains("BASH_ENV")) break;
  }
  EXPECT_THAT(found, AllOf(HasSubstr("a.sh"), HasSubstr("BASH_ENV")));
}

TEST_P(StartUpFile, ThatEndsTheShellIsNamedAndNoScriptBlamed) {
  command({"bash", "run.sh"});
  startup_file("echo said; exit 3\n");
  script("a.sh", "export A=1\n");
  const Outcome seen = outcome();
  EXPECT_EQ(seen.edits, "A=1\n");
  EXPECT_THAT(seen.log, AllOf(HasSubstr("BASH_ENV=" + file_), HasSubstr("exit code 3"),
                              Not(HasSubstr("a.sh")), Not(HasSubstr("said"))));
}

TEST_P(StartUpFile, ThatHangsIsNamed) {
  command({"bash", "run.sh"});
  startup_file("sleep 1000\n");
  script("a.sh", "export A=1\n");
  Outcome seen;
  // The script, which comes first, may need more time.
  for (const int limit_ms : {3000, 30'000}) {
    seen = outcome_within(limit_ms);
    if (seen.edits == "A=1\n" && seen.log.contains("no end after")) break;
  }
  EXPECT_EQ(seen.edits, "A=1\n");
  EXPECT_THAT(seen.log, AllOf(HasSubstr("BASH_ENV=" + file_), HasSubstr("no end after")));
}

TEST_P(StartUpFile, IsNotLookedAtWhereNothingOfAShellsIsPlanned) {
  startup_file("exit 3\n");
  plan_.env = {{EnvEdit::Kind::kSet, "OMPI_MCA_plm", "rsh"}};
  EXPECT_EQ(outcome().log, "");
}

}  // namespace
}  // namespace engine
