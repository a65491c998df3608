// What a job's user leaves where trainit looks for the stacks of its processes, and reads as root.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::Result;
using rules::Instance;
using testing::HasSubstr;
using testing::Not;

// As a process begins its file: what follows is told as its stacks.
constexpr const char* kSecret =
    "trainit signal 51 fd 0 rank 0\nThread 0x1 (most recent call first):\n"
    "  File \"the secret of root\", line 1 in f\n";

class Stacks : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    write("root/secret", kSecret);
  }
};

TEST_F(Stacks, AreNotReadThroughWhatTheJobPutsInTheirPlace) {
  Instance instance(contained(ranks(
      3,
      rules::shell(
          "cd " + path("run/stacks/dumps") + "; case $RANK_ID in 0) ln -s " + path("root/secret") +
          " $$;; 1) mkfifo $$;; 2) mkdir $$;; esac; "
          "ln -s " +
          path("root/secret") +
          " ../asked-1.txt 2>/dev/null && echo planted; "
          "mv ../dumps ../old 2>/dev/null && echo moved; "
          "echo >" +
          path("out/ready") + "-$RANK_ID" + "; exec " + rules::payload() + " sleep-forever"),
      {"--user", "1000:1000"})));
  for (const char* ready : {"ready-0", "ready-1", "ready-2"}) await_file("out", ready);
  // The ranks may run before there is a state, and whoever asks finds no instance.
  await_file("run", "state.json");
  Result stacks = tool({"stacks"});
  while (stacks.code == 2 && instance.alive()) stacks = tool({"stacks"});
  EXPECT_EQ(stacks.code, 0) << stacks.err << instance.err();
  EXPECT_THAT(stacks.out + stacks.err, Not(HasSubstr("the secret")));
  const Result json = tool({"stacks", "--json"});
  EXPECT_THAT(json.out, Not(HasSubstr("the secret")));
  EXPECT_EQ(read(path("root/secret")), kSecret);
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(log_of(rank), Not(testing::AnyOf(HasSubstr("planted"), HasSubstr("moved"))));
  }
  EXPECT_EQ(owner_of("run/stacks"), 0U);
  EXPECT_EQ(owner_of("run/stacks/dumps"), kJob);
  instance.signal(SIGTERM);
  instance.wait();
}

// The next start empties the directory.
TEST_F(Stacks, AreNotCleanedThroughALink) {
  const Result result = rules::run(contained(ranks(
      2,
      rules::shell("cd " + path("run/stacks/dumps") +
                   "; [ -e link ] && exit 4; "
                   "[ $TRAINIT_RESTART_COUNT = 1 ] && exit 0; [ $RANK_ID = 1 ] || exec " +
                   rules::payload() + " sleep-forever; ln -s " + path("root") + " link; exit 3"),
      {"--user", "1000:1000", "--max-restarts", "1"})));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("root/secret")), kSecret);
}

}  // namespace
