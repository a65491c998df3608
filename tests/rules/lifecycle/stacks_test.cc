// Where the ranks of a job that hangs are: with the image's Python, and a torch.distributed that
// only waits.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::kRunning;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Rank 1 reads a FIFO in line 5, the others wait in a collective that is called in line 7.
constexpr const char* kJob =
    "import os, sys\n"
    "sys.path.insert(0, os.environ['HERE'] + '/site-packages')\n"
    "import torch.distributed.distributed_c10d as dist\n"
    "def load():\n"
    "    open(os.environ['HERE'] + '/never').read()\n"
    "if os.environ['RANK'] == '1': load()\n"
    "dist.all_reduce()\n";
constexpr const char* kCollective =
    "import threading\n"
    "def all_reduce():\n"
    "    threading.Event().wait()\n";

class Stacks : public rules::LifecycleTest {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
    const std::string package = path("site-packages/torch/distributed");
    std::filesystem::create_directories(package);
    write("site-packages/torch/__init__.py", "");
    write("site-packages/torch/distributed/__init__.py", "");
    write("site-packages/torch/distributed/distributed_c10d.py", kCollective);
    write("train.py", kJob);
    make_fifo("never");
  }
  [[nodiscard]] Words train() const { return {"/usr/bin/python3", path("train.py")}; }
};
RULES_EITHER_WAY(Stacks);

TEST_P(Stacks, AHangIsTheFailureOfTheRankThatTheOthersWaitFor) {
  Instance instance(
      two_ranks({"--output", "files", "--stall-timeout", "2s", "--stall-action", "end"}, train()));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_THAT(instance.err(),
              AllOf(HasSubstr("where the ranks are: the others wait for rank-1"),
                    HasSubstr("first failure: rank-1"), HasSubstr("train.py:5 in load"),
                    HasSubstr("rank-0: waits in all_reduce, train.py:7")));
  EXPECT_THAT(read(path("run/stacks/stall.json")), HasSubstr("\"suspects\": [\n    \"rank-1\""));
}

TEST_P(Stacks, ComeWhenSomebodyAsks) {
  EXPECT_EQ(tool({"stacks"}).code, 2) << "no instance";
  Instance instance(two_ranks({"--output", "files"}, train()));
  await_state(kRunning);
  Result text = tool({"stacks"});
  while (text.code == 0 && !text.out.contains("train.py:7")) text = tool({"stacks"});
  EXPECT_EQ(text.code, 0) << text.err;
  while (!text.out.contains("train.py:5 in load")) text = tool({"stacks"});
  EXPECT_THAT(text.out, HasSubstr("rank-0: waits in all_reduce, train.py:7"));
  const Result json = tool({"stacks", "--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"verdict\""), HasSubstr("\"function\": \"load\"")));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, NoProgramGetsASignalThatItHasNotAskedFor) {
  // One that would die of it, and one that means something else by it.
  write("own.py",
        "import os, signal, time\n"
        "signal.signal(51, lambda *_: open(os.environ['HERE'] + '/hit', 'w'))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: time.sleep(0.01)\n");
  Instance instance(two_ranks({"--output", "inherit"},
                              shell("[ $RANK = 0 ] && exec /usr/bin/python3 -I $HERE/own.py; "
                                    "echo ready; while :; do sleep 0.05; done")));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  await_state(kRunning);
  for (int i = 0; i < 2; ++i) {
    const Result result = tool({"stacks"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("no Python stack: it is no Python"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("hit")));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, AreTakenBeforeAKill) {
  write("deaf.py",
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "os.write(1, b'ready\\n')\n"
        "def deaf():\n"
        "    while True: time.sleep(1)\n"
        "deaf()\n");
  Instance instance(
      two_ranks({"--output", "inherit", "--grace", "4s"}, {"/usr/bin/python3", path("deaf.py")}));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("rank-0, rank-1 did not end, and will be killed: "),
                                    HasSubstr("deaf.py:5 in deaf")));
}

TEST_P(Stacks, ThePythonOfTheJobSeesNothingOfIt) {
  std::filesystem::create_directories(path("theirs"));
  write("theirs/sitecustomize.py", "import sys; sys.theirs = True\n");
  write("look.py",
        "import os, sys\n"
        "ours = [p for p in sys.path if 'stacks' in p]\n"
        "os.write(1, b'%r %r\\n' % (hasattr(sys, 'theirs'), ours))\n");
  Instance instance(
      two_ranks({"--output", "inherit"}, shell("PYTHONPATH=$PYTHONPATH:$HERE/theirs "
                                               "exec /usr/bin/python3 $HERE/look.py")));
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(instance.out(), HasSubstr("True []\nTrue []\n"));
  EXPECT_TRUE(std::filesystem::is_empty(path("run/stacks/dumps"))) << "they have ended";
  const Result plan = tool({"plan", "--", "python3", "train.py"});
  EXPECT_THAT(plan.out, Not(HasSubstr("PYTHONPATH"))) << "a single command";
}

}  // namespace
