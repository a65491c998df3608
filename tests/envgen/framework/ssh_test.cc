#include "envgen/framework/ssh.h"

#include <gmock/gmock.h>

#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LauncherCase two_nodes() {
  LauncherCase launcher_case({"mpirun", "train"}, {2, 2}, 0);
  launcher_case.snapshot.facts.program = "/bin/trainit";
  return launcher_case;
}

SshSetup setup_of(const LauncherCase& launcher_case) {
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  auto setup = ssh_setup(inputs);
  EXPECT_TRUE(setup) << to_line(setup.error());
  return setup.value_or(SshSetup{});
}

std::string setup_error(const LauncherCase& launcher_case) {
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  auto setup = ssh_setup(inputs);
  return setup ? "" : to_line(setup.error());
}

TEST(SshSetup, RootHasThePortOfSshdAndOthersOneTheyMayOpen) {
  LauncherCase launcher_case = two_nodes();
  EXPECT_EQ(setup_of(launcher_case).port, 22);
  launcher_case.snapshot.facts.uid = 1000;
  EXPECT_EQ(setup_of(launcher_case).port, 2222);
  launcher_case.request.ssh_port = 5022;
  EXPECT_EQ(setup_of(launcher_case).port, 5022);
}

TEST(SshSetup, TheClientAsksNothingAndUsesTheCopyOfTheKey) {
  LauncherCase launcher_case = two_nodes();
  EXPECT_EQ(setup_of(launcher_case).argument_line(),
            "-p 22 -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR -o ConnectTimeout=10");
  launcher_case.request.ssh_key = "keys/id";
  const SshSetup setup = setup_of(launcher_case);
  EXPECT_EQ(setup.key, "/srv/job/keys/id");
  EXPECT_THAT(setup.argument_line(),
              HasSubstr("-p 22 -i /run/trainit/ssh/key -o IdentitiesOnly=yes -o BatchMode"));
}

TEST(SshSetup, RefusesPathsThatNoLauncherCanPassOn) {
  LauncherCase launcher_case = two_nodes();
  launcher_case.request.ssh_key = "/my keys/id";
  EXPECT_THAT(setup_error(launcher_case), HasSubstr("/my keys/id"));
  launcher_case.request.ssh_key = "";
  launcher_case.snapshot.facts.run_dir = "";
  EXPECT_THAT(setup_error(launcher_case), HasSubstr("TRAINIT_RUN_DIR"));
  launcher_case = two_nodes();
  launcher_case.snapshot.facts.program = "";
  EXPECT_THAT(setup_error(launcher_case), HasSubstr("/proc"));
}

TEST(Ssh, AWorkersMainTaskIsItsSshd) {
  LauncherCase launcher_case = two_nodes();
  launcher_case.request.ssh_key = "/key";
  launcher_case.request.launcher_timeout_ms = 5000;
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  Plan plan;
  serve_as_worker(inputs, setup_of(launcher_case), plan);
  ASSERT_EQ(plan.processes.size(), 1U);
  EXPECT_EQ(line_of(plan.processes[0].argv),
            "/bin/trainit peer serve --dir /run/trainit/ssh --port 22 --key /key "
            "--launcher-timeout-ms 5000");
  EXPECT_EQ(plan.directories, (std::vector<PlannedDirectory>{{"/run/trainit/ssh"}}));
  EXPECT_FALSE(plan.peers);
  EXPECT_THAT(plan.post_stop, IsEmpty());
}

TEST(Ssh, TheLaunchersSshdIsAServiceThatWaitsForNoLauncher) {
  LauncherCase launcher_case = two_nodes();
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  Plan plan;
  add_sshd_service(inputs, setup_of(launcher_case), plan);
  EXPECT_THAT(plan.processes, IsEmpty());
  ASSERT_EQ(plan.services.size(), 1U);
  EXPECT_EQ(line_of(plan.services[0].argv),
            "/bin/trainit peer serve --dir /run/trainit/ssh --port 22");
}

TEST(Ssh, TheLauncherWaitsForItsPeersAndEndsThem) {
  LauncherCase launcher_case = two_nodes();
  launcher_case.request.ssh_key = "/key";
  launcher_case.request.peer_timeout_ms = 7000;
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  Plan plan;
  wait_for_and_end_workers(inputs, setup_of(launcher_case), {"b", "c"}, plan);
  ASSERT_TRUE(plan.peers);
  EXPECT_THAT(plan.peers->hosts, ElementsAre("b", "c"));
  EXPECT_EQ(plan.peers->timeout_ms, 7000);
  EXPECT_THAT(line_of(plan.peers->probe), testing::StartsWith("ssh -p 22 -i /run/trainit/ssh/key"));
  EXPECT_EQ(plan.files, (std::vector<PlannedFile>{{"/run/trainit/ssh/key", 0600, "", "/key"},
                                                  {"/run/trainit/ssh/peers", 0644, "b\nc\n", ""}}));
  ASSERT_EQ(plan.post_stop.size(), 1U);
  EXPECT_EQ(line_of(plan.post_stop[0].argv),
            "/bin/trainit peer end --dir /run/trainit/ssh --hosts-file /run/trainit/ssh/peers "
            "--port 22 --key /key");
  EXPECT_EQ(plan.policy.post_stop_ms, 2000);
}

TEST(Ssh, WithoutPeersThereIsNothingToWaitForOrToEnd) {
  LauncherCase launcher_case = two_nodes();
  Inputs inputs(launcher_case.snapshot, launcher_case.request);
  Plan plan;
  wait_for_and_end_workers(inputs, setup_of(launcher_case), {}, plan);
  EXPECT_EQ(plan, Plan());
}

TEST(Ssh, TheNodeWithTheLaunchersRoleLaunchesElseTheFirst) {
  Cluster cluster;
  cluster.nodes.resize(3);
  EXPECT_EQ(launching_node(cluster), 0);
  cluster.nodes[2].role = "launcher";
  EXPECT_EQ(launching_node(cluster), 2);
}

TEST(Ssh, OtherHostsNeedNames) {
  Cluster cluster = two_nodes().resolved.cluster;
  EXPECT_THAT(other_hosts(cluster, 0).value(), ElementsAre("host-1"));
  EXPECT_THAT(other_hosts(cluster, 1).value(), ElementsAre("host-0"));
  cluster.nodes[1].host = "-oProxyCommand=x";
  EXPECT_FALSE(other_hosts(cluster, 0));
  cluster.nodes[1].host = "";
  auto error = other_hosts(cluster, 0);
  ASSERT_FALSE(error);
  EXPECT_THAT(to_line(error.error()), HasSubstr("node 1"));
  EXPECT_TRUE(other_hosts(cluster, 1)) << "nobody has to reach itself by name";
}

}  // namespace
}  // namespace envgen
