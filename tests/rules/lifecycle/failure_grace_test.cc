// The time of the other ranks after a failure (--failure-grace).

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::shell;
using testing::HasSubstr;
using testing::Not;

class FailureGrace : public rules::LifecycleTest {};
RULES_EITHER_WAY(FailureGrace);

// Rank 1 fails as soon as rank 0 handles TERM. `at_term`: what rank 0 does then.
rules::Words lost_peer(const std::string& at_term) {
  return shell(
      "if [ $RANK = 1 ]; then while [ ! -e $HERE/ready ]; do sleep 0.01; done; exit 3; fi\n"
      "trap '" +
      at_term + "' TERM; > $HERE/ready; while :; do sleep 0.05; done");
}

TEST_P(FailureGrace, EndsARankThatSavesNothingBeforeTheGraceIsOver) {
  Instance instance(two_ranks({"--grace", "1h"}, lost_peer(":")));
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_THAT(instance.err(), HasSubstr("after the failure (--failure-grace), so it gets SIGKILL: "
                                        "rank-0"));
}

TEST_P(FailureGrace, LeavesARankThatWritesItsTime) {
  const std::string save =
      "end=$(($(date +%s) + 7)); while [ $(date +%s) -lt $end ]; do "
      "head -c 262144 /dev/zero > $HERE/part; sleep 0.1; done; mv $HERE/part $HERE/saved; exit 0";
  Instance instance(two_ranks({"--grace", "1h", "--failure-grace", "5s"}, lost_peer(save)));
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_EQ(read(path("saved")).size(), 262144U);
  EXPECT_THAT(instance.err(), Not(HasSubstr("SIGKILL")));
}

TEST_P(FailureGrace, IsNotForAStop) {
  Instance instance(two_ranks({"--grace", "1h", "--failure-grace", "1ms"},
                              shell("trap 'sleep 0.5; echo saved $RANK; exit 0' TERM; echo up; "
                                    "while :; do sleep 0.05; done")));
  instance.await_out("up");
  await_file("run", "logs/rank-1.log");
  while (read(path("run/logs/rank-1.log")).empty()) ::sched_yield();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_THAT(read(path("run/logs/rank-1.log")), HasSubstr("saved 1"));
  EXPECT_THAT(instance.err(), Not(HasSubstr("SIGKILL")));
}

// The node that is stopped first ends like a failed one, as the other nodes see it.
TEST_P(FailureGrace, IsNotForAStopOfAnotherNode) {
  for (const int stopped : {0, 2}) {
    SCOPED_TRACE(stopped);
    rules::LocalNodes nodes(3);
    std::filesystem::remove(path("ready"));
    std::filesystem::remove(path("saved"));
    const auto node = [&](int number) {
      const rules::Words options = {"--run-dir",       path("run" + std::to_string(number)),
                                    "--grace",         "1h",
                                    "--failure-grace", "200ms"};
      const std::string script =
          number == 1 ? "trap 'sleep 1.5; > $HERE/saved; exit 0' TERM; > $HERE/ready; "
                        "while :; do sleep 0.05; done"
                      : "exec sleep 600";
      return spec(rules::joined(rules::joined(options, nodes.options(number)),
                                rules::joined({"--"}, shell(script))));
    };
    Instance zero(node(0));
    Instance one(node(1));
    Instance two(node(2));
    ASSERT_TRUE(one.await_err("connected to node 0"));
    ASSERT_TRUE(two.await_err("connected to node 0"));
    await_file("", "ready");
    Instance& first = stopped == 0 ? zero : two;
    first.signal(SIGTERM);
    EXPECT_EQ(first.wait(), 143);
    EXPECT_EQ(one.wait(), 76);
    EXPECT_EQ((stopped == 0 ? two : zero).wait(), 76);
    EXPECT_TRUE(std::filesystem::exists(path("saved"))) << one.err();
    EXPECT_THAT(one.err(), Not(HasSubstr("SIGKILL")));
  }
}

}  // namespace
