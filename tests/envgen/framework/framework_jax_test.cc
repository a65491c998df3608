// JAX: a process for each node, or as many as --slots says.

#include <gmock/gmock.h>

#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Plan launched(LauncherCase c) {
  Inputs inputs(c.snapshot, c.request);
  const base::Status status = launcher_of("jax").launch(inputs, c.resolved, c.plan);
  if (!status) ADD_FAILURE() << to_line(status.error());
  return c.plan;
}

base::Environ environment_of(const LauncherCase& c, const Plan& plan, std::size_t index) {
  base::Environ env = c.snapshot.env;
  for (const base::EnvEdit& edit : plan.processes[index].env) env.apply(edit);
  return env;
}

TEST(Jax, EachNodeIsOneProcessOfTheJob) {
  LauncherCase c({"python3", "train.py"}, {1, 1, 1}, 2);
  c.snapshot.env.set("RANK", "7");
  const Plan plan = launched(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  const base::Environ env = environment_of(c, plan, 0);
  EXPECT_EQ(env.get("JAX_COORDINATOR_ADDRESS"), "host-0:6666");
  EXPECT_EQ(env.get("JAX_NUM_PROCESSES"), "3");
  EXPECT_EQ(env.get("JAX_PROCESS_ID"), "2");
  EXPECT_EQ(env.get("JAX_LOCAL_DEVICE_IDS"), std::nullopt) << "it drives all devices";
  EXPECT_EQ(env.get("RANK"), std::nullopt);
  EXPECT_EQ(env.get("NUM_PROCESSES"), std::nullopt);
}

TEST(Jax, SeveralProcessesOfANodeHaveADeviceEach) {
  LauncherCase c({"python3", "train.py"}, {2, 2}, 1);
  const Plan plan = launched(c);
  ASSERT_THAT(plan.processes, SizeIs(2));
  const base::Environ env = environment_of(c, plan, 1);
  EXPECT_EQ(env.get("JAX_PROCESS_ID"), "3");
  EXPECT_EQ(env.get("JAX_NUM_PROCESSES"), "4");
  EXPECT_EQ(env.get("JAX_LOCAL_DEVICE_IDS"), "1");
}

TEST(Jax, TheNamesOfAJaxJobAreKeptRight) {
  LauncherCase c({"python3", "train.py"}, {1, 1}, 1);
  c.snapshot.env.set("COORDINATOR_ADDRESS", "job-worker-0");
  c.resolved.cluster.master_addr = "job-worker-0";
  c.resolved.cluster.master_port = 7777;
  const base::Environ env = environment_of(c, launched(c), 0);
  EXPECT_EQ(env.get("COORDINATOR_ADDRESS"), "job-worker-0");
  EXPECT_EQ(env.get("COORDINATOR_PORT"), "7777");
  EXPECT_EQ(env.get("NUM_PROCESSES"), "2");
  EXPECT_EQ(env.get("PROCESS_ID"), "1");
  EXPECT_EQ(env.get("JAX_COORDINATOR_ADDRESS"), "job-worker-0:7777");
}

TEST(Jax, AnAddressOfIpv6HasItsBrackets) {
  LauncherCase c({"python3", "train.py"}, {1, 1}, 0);
  c.request.master_addr = "fd00::1";
  EXPECT_EQ(environment_of(c, launched(c), 0).get("JAX_COORDINATOR_ADDRESS"), "[fd00::1]:6666");
}

TEST(Jax, ANodeThatIsAloneIsOneProcessToo) {
  LauncherCase c({"python3", "train.py"}, {}, 0);
  c.with_devices({"nvidia0", "nvidia1"});
  const Plan plan = launched(c);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(environment_of(c, plan, 0).get("JAX_NUM_PROCESSES"), "1");
  EXPECT_EQ(plan.world_size, 1);
  c.request.slots = 2;
  EXPECT_THAT(launched(c).processes, SizeIs(2));
}

TEST(Jax, TheTasksOfOneNodeMeetWhereThePlatformSays) {
  LauncherCase c({"python3", "train.py"}, {2}, 0);
  c.resolved.cluster.master_addr = "pod-0";
  c.resolved.platform.own_rank = 1;
  c.resolved.platform.local_rank = 1;
  const Plan plan = launched(c);
  EXPECT_EQ(environment_of(c, plan, 0).get("JAX_COORDINATOR_ADDRESS"), "pod-0:6666");
  EXPECT_FALSE(plan.free_master_port) << "each would take another";
}

}  // namespace
}  // namespace envgen
