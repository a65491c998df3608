// Paddle: a process for each device, or the launch that the user typed.

#include <gmock/gmock.h>

#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Plan planned(LauncherCase c) {
  Inputs inputs(c.snapshot, c.request);
  const base::Status status = launcher_of("paddle").launch(inputs, c.resolved, c.plan);
  if (!status) ADD_FAILURE() << to_line(status.error());
  return c.plan;
}

base::Environ environment_in(const LauncherCase& c, const Plan& plan, std::size_t index) {
  base::Environ env = c.snapshot.env;
  for (const base::EnvEdit& edit : plan.processes[index].env) env.apply(edit);
  return env;
}

TEST(Paddle, EachRankKnowsTheEndpointsOfAll) {
  LauncherCase c({"python3", "train.py"}, {2, 2}, 1);
  c.snapshot.env.set("PADDLE_MASTER", "of-the-image:1");
  const Plan plan = planned(c);
  ASSERT_THAT(plan.processes, SizeIs(2));
  const base::Environ env = environment_in(c, plan, 1);
  EXPECT_EQ(env.get("PADDLE_TRAINER_ID"), "3");
  EXPECT_EQ(env.get("PADDLE_TRAINERS_NUM"), "4");
  EXPECT_EQ(env.get("PADDLE_TRAINER_ENDPOINTS"), "host-0:6070,host-0:6071,host-1:6070,host-1:6071");
  EXPECT_EQ(env.get("PADDLE_CURRENT_ENDPOINT"), "host-1:6071");
  EXPECT_EQ(env.get("PADDLE_RANK_IN_NODE"), "1");
  EXPECT_EQ(env.get("PADDLE_NNODES"), "2");
  EXPECT_EQ(env.get("FLAGS_selected_gpus"), "1");
  EXPECT_EQ(env.get("MASTER_ADDR"), "host-0");
  EXPECT_EQ(env.get("MASTER_PORT"), "36543");
  EXPECT_EQ(env.get("PADDLE_MASTER"), std::nullopt);
}

TEST(Paddle, ATypedLaunchStaysOneProcessAndIsToldItsNodes) {
  LauncherCase c({"python3", "-m", "paddle.distributed.launch", "train.py"}, {8, 8}, 1);
  c.snapshot.env.set("PADDLE_TRAINER_ID", "5");
  const Plan plan = planned(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  const base::Environ env = environment_in(c, plan, 0);
  EXPECT_EQ(env.get("PADDLE_MASTER"), "host-0:36543");
  EXPECT_EQ(env.get("PADDLE_NNODES"), "2");
  EXPECT_EQ(env.get("PADDLE_RANK"), "1");
  EXPECT_EQ(env.get("PADDLE_NPROC_PER_NODE"), "8");
  EXPECT_EQ(env.get("PADDLE_TRAINER_ID"), std::nullopt) << "it would be taken for the node's rank";
}

TEST(Paddle, ATypedLaunchMayNameItsMasterItself) {
  LauncherCase c({"fleetrun", "--master", "a:1", "train.py"}, {8, 8}, 1);
  for (Node& node : c.resolved.cluster.nodes) node.host.clear();
  const Plan plan = planned(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(environment_in(c, plan, 0).get("PADDLE_MASTER"), std::nullopt);
}

TEST(Paddle, AScriptMayStartTheLaunchAndIsStartedOnce) {
  LauncherCase c({"bash", "run.sh"}, {8, 8}, 1);
  const Plan plan = planned(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(environment_in(c, plan, 0).get("PADDLE_MASTER"), "host-0:36543");
  EXPECT_EQ(environment_in(c, plan, 0).get("PADDLE_RANK"), "1");
}

TEST(Paddle, AScriptThatThePlatformStartsForEachRankIsARank) {
  LauncherCase c({"bash", "run.sh"}, {2}, 0);
  c.resolved.platform.own_rank = 1;
  c.resolved.platform.local_rank = 1;
  c.resolved.cluster.master_addr = "pod-0";
  const Plan plan = planned(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(environment_in(c, plan, 0).get("PADDLE_TRAINER_ID"), "1");
  EXPECT_EQ(environment_in(c, plan, 0).get("MASTER_ADDR"), "pod-0");
  EXPECT_FALSE(plan.free_master_port) << "each would take another";
}

TEST(Paddle, NodesWithoutANameAreAnError) {
  LauncherCase c({"python3", "train.py"}, {1, 1}, 0);
  c.resolved.cluster.nodes[1].host.clear();
  Inputs inputs(c.snapshot, c.request);
  const base::Status status = launcher_of("paddle").launch(inputs, c.resolved, c.plan);
  ASSERT_FALSE(status);
  EXPECT_THAT(to_line(status.error()), HasSubstr("--hosts"));
}

}  // namespace
}  // namespace envgen
