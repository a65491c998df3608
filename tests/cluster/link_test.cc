// What one node's fault does on the others: all end, in a bounded time, for the same cause, or all
// start again. Real containers, whose ranks are stubs that sit until they are told how to end.
// Deaths of ranks and containers, with hooks, data and slow nodes: link_faults.py.

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>

#include "tests/cluster/link_job.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

std::ptrdiff_t lines_with(const std::string& log, std::string_view text) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_F(LinkTest, WhatPassesWithinTheTimeoutChangesNothingAndACheckpointIsOneOnAll) {
  // Far longer than the pauses and what docker needs to begin and to end one.
  start_job(3, {"--link-timeout=12s", "--signal=USR2=checkpoint"});
  await_all_up();

  docker::run_program({"docker", "pause", node(2).name()});
  signal_pid1(1, SIGSTOP);  // its link's process lives on
  lasts(2500ms);
  docker::run_program({"docker", "unpause", node(2).name()});
  signal_pid1(1, SIGCONT);
  disconnect(1);
  lasts(2500ms);
  connect(1);
  disconnect(0);
  lasts(1s);
  connect(0);
  const bool cut = iptables(2, {"-A", "OUTPUT", "-d", address_of(0), "-j", "DROP"});
  if (cut) {
    lasts(2500ms);
    EXPECT_TRUE(iptables(2, {"-F", "OUTPUT"}));
  }
  signal_pid1(2, SIGUSR2);

  EXPECT_THAT(wait_for_all(), Each(75)) << logs();
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_THAT(node(rank / 2).logs(), HasSubstr("rank " + std::to_string(rank) + " saved"));
  }
  EXPECT_THAT(logs(), Not(HasSubstr("is lost")));
}

TEST_F(LinkTest, ANodeThatIsPausedForLongerThanTheTimeoutIsLost) {
  start_job(3, {"--link-timeout=5s"});
  await_all_up();

  docker::run_program({"docker", "pause", node(2).name()});
  EXPECT_EQ(node(0).wait(), 76);
  EXPECT_EQ(node(1).wait(), 76);
  docker::run_program({"docker", "unpause", node(2).name()});

  EXPECT_EQ(node(2).wait(), 76);
  expect_same_failure({0, 1}, "node 2 (node-2) is lost: nothing was heard from it for 5 s");
}

TEST_F(LinkTest, ANodeWhoseWordsDoNotComeThroughIsLostAndEndsToo) {
  start_job(3, {"--link-timeout=5s"});
  await_all_up();

  if (!iptables(2, {"-A", "OUTPUT", "-d", address_of(0), "-j", "DROP"})) {
    GTEST_SKIP() << "no iptables in a container's network";
  }

  EXPECT_THAT(wait_for_all(), Each(76));
  expect_same_failure({0, 1}, "node 2 (node-2) is lost");
}

TEST_F(LinkTest, ANodeThatHearsNothingEndsTheJob) {
  start_job(3, {"--link-timeout=5s"});
  await_all_up();

  if (!iptables(2, {"-A", "INPUT", "-s", address_of(0), "-j", "DROP"})) {
    GTEST_SKIP() << "no iptables in a container's network";
  }

  EXPECT_THAT(wait_for_all(), Each(76));
}

TEST_F(LinkTest, ANetworkThatStaysAwayEndsTheJobOnBothSides) {
  start_job(3, {"--link-timeout=5s"});
  await_all_up();

  disconnect(2);

  EXPECT_THAT(wait_for_all(), Each(76));
  expect_same_failure({0, 1}, "node 2 (node-2) is lost");
  EXPECT_THAT(message(2), HasSubstr("node 0 (node-0) is lost"));
}

TEST_F(LinkTest, ANodeThatIsStoppedAloneEndsTheOthersAndAllAreStoppedAsAlways) {
  start_job(3);
  await_all_up();

  node(1).stop();

  EXPECT_THAT(wait_for_all(), ElementsAre(76, 143, 76));
  for (const int index : {0, 2}) {
    EXPECT_THAT(node(index).logs(), HasSubstr("node 1 (node-1) was stopped by SIGTERM"));
  }
}

TEST_F(LinkTest, ANode0ThatIsStoppedAloneEndsTheOthersAndTheySayWhy) {
  start_job(3);
  await_all_up();

  node(0).stop();

  EXPECT_THAT(wait_for_all(), ElementsAre(143, 76, 76));
  for (const int index : {1, 2}) {
    EXPECT_THAT(node(index).logs(), HasSubstr("node 0 (node-0) was stopped by SIGTERM"));
  }
}

// --- Restart ---

const Words kRestart = {"--restart-across-nodes", "--max-restarts=3", "--restart-delay=100ms",
                        "--restart-window=60s"};

TEST_F(LinkTest, ANodeThatIsKilledInTheRestartJoinsItInANewContainer) {
  start_job(3, kRestart);
  await_all_up();

  order(2, "exit 7");
  ASSERT_TRUE(node(2).await_log("first failure: rank-2 (node 1")) << logs();
  signal_pid1(2, SIGKILL);
  ASSERT_EQ(node(2).wait(), 137);
  start_node(2);
  await_up(2);
  for (int rank = 0; rank < 6; ++rank) order(rank, "exit 0");

  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
}

TEST_F(LinkTest, AContainerThatIsKilledInTheMeetingIsAwaitedAnew) {
  describe_job(3, kRestart);
  start_node(0);
  start_node(1);
  ASSERT_TRUE(node(0).await_log("waiting for 1 of 3 nodes")) << logs();
  signal_pid1(1, SIGKILL);
  ASSERT_TRUE(node(0).await_log("waiting for 2 of 3 nodes")) << logs();
  start_node(2);
  start_node(1);
  await_all_up();
  for (int rank = 0; rank < 6; ++rank) order(rank, "exit 0");

  EXPECT_THAT(wait_for_all(), Each(0)) << logs();
}

TEST_F(LinkTest, ANodeThatDoesNotComeIsNamedByAllWhoHaveWaited) {
  describe_job(3, {"--restart-across-nodes", "--max-restarts=1"});
  // Node 2 is there before the window of node 0 begins, however long its container takes.
  start_node(2, {"-e", "TRAINIT_RESTART_WINDOW=1h"});
  start_node(0, {"-e", "TRAINIT_RESTART_WINDOW=15s"});

  EXPECT_THAT(wait_for_all(), ElementsAre(69, AnyOf(69, 76))) << logs();
  for (const int index : {0, 2}) {
    EXPECT_THAT(message(index), HasSubstr("node 1 (node-1): not connected")) << index;
  }
}

TEST_F(LinkTest, WhoWaitsForNode0InVainEndsWithItsNameAndSaysOnceWhy) {
  describe_job(3, {"--restart-across-nodes", "--max-restarts=1"});
  // Node 0 is still there when node 1 comes, however long the container of that takes.
  start_node(0, {"-e", "TRAINIT_RESTART_WINDOW=1h"});
  start_node(1, {"-e", "TRAINIT_RESTART_WINDOW=20s"});
  ASSERT_TRUE(node(1).await_log("connected to node 0")) << logs();
  signal_pid1(0, SIGKILL);

  EXPECT_THAT(wait_for_all(), ElementsAre(137, 69)) << logs();
  EXPECT_THAT(message(1), HasSubstr("node 0 (node-0)"));
  EXPECT_THAT(lines_with(node(1).logs(), "trainit[node 1]: node 0 (node-0)"), Le(1)) << logs();
}

}  // namespace
}  // namespace cluster
