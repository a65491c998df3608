#include "envgen/resolve/warm.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

class Warm : public testing::Test {
 protected:
  Warm() {
    request_.warm = {"torch"};
    snapshot_.facts.run_dir = "/run/trainit";
    plan_.policy.max_restarts = 1;
  }
  const WarmPlan& planned(const Words& argv) {
    Process process;
    process.name = "rank-0";
    process.argv = argv;
    plan_.processes = {process};
    plan_.warm = {};
    plan_.warnings.clear();
    plan_warm(Inputs(snapshot_, request_), plan_);
    return plan_.warm;
  }
  // Where its program stands in the command, -1: it cannot be warm.
  int operand(const Words& argv) { return planned(argv).processes[0].operand; }
  std::string cold(const Words& argv) { return planned(argv).cold; }

  Snapshot snapshot_;
  Request request_;
  Plan plan_;
};

TEST_F(Warm, APythonScriptOrModuleCanBe) {
  EXPECT_EQ(operand({"python3", "train.py", "-x"}), 1);
  EXPECT_EQ(operand({"/opt/conda/bin/python", "-u", "-X", "faulthandler", "train.py"}), 4);
  EXPECT_EQ(operand({"python3.11", "-Wdefault", "-bb", "--", "train.py"}), 4);
  EXPECT_EQ(operand({"python", "-um", "train.main", "a"}), 2);
  EXPECT_TRUE(plan_.warm.processes[0].module);
  EXPECT_EQ(plan_.warm.cold, "");
  EXPECT_THAT(plan_.warnings, IsEmpty());
  EXPECT_EQ(plan_.warm.directory, "/run/trainit/warm");
}

TEST_F(Warm, AnythingElseStartsColdAndThePlanSaysWhy) {
  for (const Words& argv :
       {Words{"./train"}, Words{"python3", "-c", "print(1)"}, Words{"python3"},
        Words{"bash", "-c", "python3 train.py"}, Words{"conda", "run", "python", "train.py"}}) {
    EXPECT_EQ(operand(argv), -1) << argv[0];
    EXPECT_EQ(plan_.warm.cold, "rank-0: its command is no Python script or module");
  }
  EXPECT_THAT(plan_.warnings, ElementsAre(HasSubstr("no Python script or module, so a restart of "
                                                    "it is a cold one")));
}

TEST_F(Warm, ALauncherStartsItsRanksByItself) {
  for (const Words& argv :
       {Words{"torchrun", "train.py"}, Words{"python", "-m", "torch.distributed.run", "train.py"},
        Words{"mpirun", "python", "train.py"}}) {
    EXPECT_THAT(cold(argv), HasSubstr("is a launcher")) << argv[0];
  }
}

TEST_F(Warm, AnOptionThatKeepsPythonFromLoadingAnythingBefore) {
  for (const char* option : {"-I", "-E", "-S", "-uE", "-i", "-x", "-V"}) {
    EXPECT_THAT(cold({"python", option, "train.py"}), HasSubstr("Python's option -")) << option;
  }
  // What belongs to an option's value is none.
  EXPECT_EQ(cold({"python", "-XE", "-W", "-I", "train.py", "-I"}), "");
}

TEST_F(Warm, AJobThatIsNotRestartedHasNothingToBeWarmFor) {
  plan_.policy.max_restarts = 0;
  EXPECT_THAT(cold({"python", "train.py"}), HasSubstr("the job is not restarted"));
  plan_.policy.elastic = true;
  EXPECT_EQ(cold({"python", "train.py"}), "");
  request_.warm = {};
  EXPECT_EQ(planned({"python", "train.py"}), WarmPlan());
}

TEST_F(Warm, TheProgramIsExecutedOnlyWhereTheFileThatWarmsItWasLoaded) {
  const Words script = {"python", "-u", "train.py", "a"};
  const Words command = warm_command(script, {.operand = 2});
  EXPECT_THAT(command, ElementsAre("python", "-u", "-c", HasSubstr("sys.exit(3)"), "python", "-u",
                                   "train.py", "a"));
  EXPECT_EQ(warm_command({"python", "-um", "train"}, {.operand = 2, .module = true})[1], "-u");
  EXPECT_EQ(warm_command({"python", "-m", "train"}, {.operand = 2, .module = true})[1], "-c");
  EXPECT_EQ(warm_command({"python", "--", "t.py"}, {.operand = 2})[1], "-c");
}

TEST_F(Warm, TheFileStandsInFrontAndTheRanksOwnPathIsKnown) {
  WarmPlan warm;
  warm.directory = "/run/warm";
  const base::Environ without = warm_environment(base::Environ({"A=1"}), warm, 7);
  EXPECT_EQ(without.get("PYTHONPATH"), "/run/warm");
  EXPECT_EQ(without.get(kWarmVariable), "probe 7 -");
  const base::Environ empty = warm_environment(base::Environ({"PYTHONPATH="}), warm, 7);
  EXPECT_EQ(empty.get("PYTHONPATH"), "/run/warm");
  EXPECT_EQ(empty.get(kWarmVariable), "probe 7 =");
  const base::Environ some = warm_environment(base::Environ({"PYTHONPATH=:/a b:"}), warm, 7);
  EXPECT_EQ(some.get("PYTHONPATH"), "/run/warm::/a b:");
  EXPECT_EQ(some.get(kWarmVariable), "probe 7 =:/a b:");
}

class WarmDifference : public testing::Test {
 protected:
  [[nodiscard]] std::string difference() const { return warm_difference(kept_, now_, free_); }

  WarmStart kept_{.argv = {"python", "train.py"},
                  .env = base::Environ({"RANK=0", "CUDA_VISIBLE_DEVICES=0", "MASTER_PORT=1"}),
                  .cwd = "/job",
                  .cpus = "0-3"};
  WarmStart now_ = kept_;
  std::vector<std::string> free_;
};

TEST_F(WarmDifference, NoneIsThereForTheSameStart) { EXPECT_EQ(difference(), ""); }

TEST_F(WarmDifference, TheCommandWhereItRunsAndOnWhat) {
  now_.argv = {"/opt/python", "train.py"};
  EXPECT_EQ(difference(), "its interpreter is another one");
  now_.argv = {"python", "other.py"};
  EXPECT_EQ(difference(), "its command is another one");
  now_.argv = {"python", "train.py", "--resume"};
  EXPECT_EQ(difference(), "its command is another one");
  now_ = kept_;
  now_.cwd = "/";
  EXPECT_EQ(difference(), "its working directory is another one");
  now_ = kept_;
  now_.cpus = "4-7";
  EXPECT_EQ(difference(), "its CPUs are others");
}

TEST_F(WarmDifference, AnyVariableThatIsAnotherOneThereOrGone) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "OMP_NUM_THREADS",
                           "PYTHONHASHSEED", "LD_PRELOAD", "RANK", "WORLD_SIZE", "HF_HOME"}) {
    now_ = kept_;
    now_.env.set(name, "5");
    EXPECT_EQ(difference(), std::string(name) + " is another one");
  }
  now_ = kept_;
  now_.env.unset("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(difference(), "CUDA_VISIBLE_DEVICES is another one");
  now_ = kept_;
  now_.env.set("EMPTY", "");
  EXPECT_EQ(difference(), "EMPTY is another one") << "set, and not before";
}

TEST_F(WarmDifference, NotWhatEachStartHasOfItsOwnAndWhatTheUserLetsBe) {
  now_.env.set("MASTER_PORT", "2");
  now_.env.set("TRAINIT_RESTART_COUNT", "1");
  EXPECT_EQ(difference(), "");
  now_.env.set("RUN_ID", "1");
  now_.env.set("LOG_LEVEL", "1");
  free_ = {"RUN_ID", "LOG_*"};
  EXPECT_EQ(difference(), "");
  now_.env.set("LOG", "1");
  EXPECT_EQ(difference(), "LOG is another one");
}

TEST_F(WarmDifference, TheEditsMakeTheOneTheOther) {
  const base::Environ kept({"A=1", "B=2", "GONE=3", "C=x=y"});
  const base::Environ now({"A=1", "B=4", "C=x=z", "NEW="});
  EXPECT_THAT(warm_edits(kept, now), ElementsAre("B=4", "C=x=z", "NEW=", "GONE"));
}

}  // namespace
}  // namespace envgen
