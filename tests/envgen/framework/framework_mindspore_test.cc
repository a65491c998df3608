#include "envgen/framework/framework_mindspore.h"

#include <gmock/gmock.h>

#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

LauncherCase train(const std::vector<int>& slots, int node_rank) {
  LauncherCase launcher_case({"python", "train.py"}, slots, node_rank);
  launcher_case.request.output = Output::kFirst;
  return launcher_case;
}

std::string main_line(const Plan& plan) {
  EXPECT_EQ(plan.processes.size(), 1U);
  return plan.processes.empty() ? "" : line_of(plan.processes[0].argv);
}

TEST(Msrun, StartsTheRanksOfEachNodeAndAlwaysWaitsForThem) {
  for (int node = 0; node < 2; ++node) {
    EXPECT_EQ(main_line(train({8, 4}, node).planned(launch_msrun)),
              "msrun --worker_num=12 --local_worker_num=" + std::string(node == 0 ? "8" : "4") +
                  " --master_addr=host-0 --master_port=8118 --node_rank=" + std::to_string(node) +
                  " --log_dir=/logs --join=True --cluster_time_out=600 python train.py");
  }
}

// msrun of MindSpore 2.3 compares --master_addr with the addresses of its interfaces.
TEST(Msrun, GetsAnAddressOfTheFirstNode) {
  LauncherCase launcher_case = train({8, 8}, 1);
  EXPECT_EQ(launcher_case.planned(launch_msrun).scheduler, (Scheduler{"host-0", false}));
  EXPECT_EQ(train({8, 8}, 0).planned(launch_msrun).scheduler, (Scheduler{"host-0", true}));
  launcher_case.resolved.cluster.master_addr = "host-0";
  launcher_case.resolved.cluster.nodes[0].container_ip = "10.0.0.7";
  launcher_case.resolved.cluster.nodes[0].host_ip = "192.168.0.7";
  const Plan plan = launcher_case.planned(launch_msrun);
  EXPECT_THAT(main_line(plan), HasSubstr(" --master_addr=10.0.0.7 "));
  EXPECT_EQ(plan.scheduler, std::nullopt);
}

TEST(Msrun, GetsTheAddressThatTheUserNames) {
  LauncherCase launcher_case = train({8, 8}, 1);
  launcher_case.request.master_addr = "scheduler.job";
  const Plan plan = launcher_case.planned(launch_msrun);
  EXPECT_THAT(main_line(plan), HasSubstr(" --master_addr=scheduler.job "));
  EXPECT_EQ(plan.scheduler, (Scheduler{"scheduler.job", false}));
  launcher_case.resolved.platform.mindspore_scheduler = true;
  EXPECT_EQ(launcher_case.planned(launch_dynamic_cluster).scheduler,
            (Scheduler{"scheduler.job", true}));
  launcher_case.request.master_addr = "10.0.0.9";
  EXPECT_EQ(launcher_case.planned(launch_msrun).scheduler, std::nullopt);
  EXPECT_EQ(train({8}, 0).planned(launch_msrun).scheduler, std::nullopt);
}

TEST(Msrun, GetsARankTableWhereThereIsOne) {
  LauncherCase launcher_case = train({8}, 0);
  launcher_case.resolved.cluster.rank_table = "{}";
  launcher_case.with_environment({"RANK_TABLE_FILE=/user/config", "MS_ROLE=MS_SCHED", "RANK=1"});
  const Plan plan = launcher_case.planned(launch_msrun);
  EXPECT_THAT(main_line(plan),
              HasSubstr(" --rank_table_file=/run/trainit/rank_table/jobstart_hccl.json python"));
  EXPECT_THAT(plan.files,
              Contains(PlannedFile{"/run/trainit/rank_table/jobstart_hccl.json", 0644, "{}", ""}));
  for (const char* name : {"RANK_TABLE_FILE", "MS_ROLE", "RANK"}) {
    EXPECT_EQ(launcher_case.variable(plan, plan.processes[0], name), "(unset)") << name;
  }
}

TEST(Msrun, TypedByTheUserStaysAndLacksJoinOnlyWithAWarning) {
  LauncherCase launcher_case = train({8}, 0);
  launcher_case.resolved.platform.command =
      std::vector<std::string>{"msrun", "--worker_num=8", "train.py"};
  Plan plan = launcher_case.planned(launch_msrun);
  EXPECT_EQ(main_line(plan), "msrun --worker_num=8 train.py");
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("--join=True")));
  for (const char* join : {"--join=True", "--join=true"}) {
    launcher_case.resolved.platform.command = std::vector<std::string>{"msrun", join, "train.py"};
    EXPECT_THAT(launcher_case.planned(launch_msrun).warnings, IsEmpty());
  }
}

TEST(Msrun, OnlyStartsPythonOfThePath) {
  LauncherCase launcher_case = train({8}, 0);
  launcher_case.resolved.platform.command =
      std::vector<std::string>{"/opt/conda/bin/python3", "train.py"};
  Plan plan = launcher_case.planned(launch_msrun);
  EXPECT_THAT(main_line(plan), testing::EndsWith(" python train.py"));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("/opt/conda/bin/python3")));
  launcher_case.resolved.platform.command = std::vector<std::string>{"./train.sh"};
  EXPECT_THAT(launcher_case.planned(launch_msrun).warnings, Contains(HasSubstr("dynamic")));
}

TEST(Msrun, RefusesWhatItCannotReach) {
  LauncherCase launcher_case = train({8, 8}, 0);
  launcher_case.request.master_addr = "fd00::1";
  EXPECT_THAT(launcher_case.error(launch_msrun), HasSubstr("IPv6"));
  launcher_case.request.master_addr = "";
  launcher_case.resolved.cluster.nodes[0].host = "";
  EXPECT_THAT(launcher_case.error(launch_msrun), HasSubstr("--master-addr"));
  EXPECT_THAT(train({0, 0}, 0).error(launch_msrun), HasSubstr("--slots"));
}

// What srun says to one of its tasks.
LauncherCase own_task(const std::vector<int>& tasks, int node_rank, int local, int rank) {
  LauncherCase launcher_case = train(tasks, node_rank);
  launcher_case.resolved.platform.own_rank = rank;
  launcher_case.resolved.platform.local_rank = local;
  return launcher_case;
}

TEST(Msrun, IsNotStartedOnceForEachRank) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "train.py"}, {"msrun", "--join=True", "train.py"}}) {
    LauncherCase launcher_case = own_task({2, 2}, 1, 1, 3);
    launcher_case.resolved.platform.command = command;
    EXPECT_THAT(launcher_case.error(launch_msrun), HasSubstr("one task per node"));
  }
}

TEST(DynamicCluster, ATaskThatThePlatformStartedIsThisRankAlone) {
  LauncherCase launcher_case = own_task({2, 2}, 1, 1, 3);
  const Plan plan = launcher_case.planned(launch_dynamic_cluster);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(plan.processes[0].name, "rank-3");
  EXPECT_EQ(plan.processes[0].rank, 3);
  EXPECT_EQ(plan.processes[0].log, "") << "it is the only one here";
  auto variable = [&](std::string_view name) {
    return launcher_case.variable(plan, plan.processes[0], name);
  };
  EXPECT_EQ(variable("MS_NODE_ID"), "3");
  EXPECT_EQ(variable("RANK_ID"), "3");
  EXPECT_EQ(variable("DEVICE_ID"), "1");
  EXPECT_EQ(variable("MS_WORKER_NUM"), "4");
}

TEST(DynamicCluster, KeepsTheRanksOfACyclicDistribution) {
  const Plan plan = own_task({2, 2}, 1, 0, 1).planned(launch_dynamic_cluster);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(plan.processes[0].rank, 1);
}

TEST(DynamicCluster, TheFirstTaskOfTheFirstNodeAloneHasTheScheduler) {
  const Plan first = own_task({2, 2}, 0, 0, 0).planned(launch_dynamic_cluster);
  ASSERT_THAT(first.processes, SizeIs(2));
  EXPECT_EQ(first.processes[0].name, "rank-0");
  EXPECT_EQ(first.processes[1].name, "scheduler");
  EXPECT_THAT(own_task({2, 2}, 0, 1, 1).planned(launch_dynamic_cluster).processes, SizeIs(1));
}

LauncherCase task_with_table(int local, int rank) {
  LauncherCase launcher_case = own_task({2}, 0, local, rank);
  launcher_case.request.device_ids = DeviceIds::kPhysical;
  launcher_case.request.work_dir = "/srv/job";
  launcher_case.resolved.cluster.rank_table = "{}";
  launcher_case.resolved.cluster.nodes[0].devices = {{4, 0}, {5, 1}};
  return launcher_case;
}

TEST(AscendRankTable, ATaskThatThePlatformStartedDrivesItsOwnDevice) {
  LauncherCase launcher_case = task_with_table(1, 1);
  launcher_case.snapshot.paths["/srv/job/train.py"] = {};
  const Plan plan = launcher_case.planned(kLaunchAscend);
  ASSERT_THAT(plan.processes, SizeIs(1));
  EXPECT_EQ(plan.processes[0].name, "rank-1");
  EXPECT_EQ(plan.processes[0].device, 5);
  EXPECT_EQ(launcher_case.variable(plan, plan.processes[0], "RANK_ID"), "1");
}

TEST(AscendRankTable, ATaskWithoutADeviceOfItsOwnIsAnError) {
  LauncherCase more = task_with_table(2, 2);
  more.snapshot.paths["/srv/job/train.py"] = {};
  EXPECT_THAT(more.error(kLaunchAscend), HasSubstr("2 devices"));
  LauncherCase other = task_with_table(1, 3);
  other.snapshot.paths["/srv/job/train.py"] = {};
  EXPECT_THAT(other.error(kLaunchAscend), HasSubstr("rank 3"));
}

TEST(DynamicCluster, OneProcessPerDeviceAndTheSchedulerOnTheFirstNode) {
  for (int node = 0; node < 2; ++node) {
    LauncherCase launcher_case = train({2, 2}, node);
    launcher_case.resolved.cluster.master_port = 7000;
    const Plan plan = launcher_case.planned(launch_dynamic_cluster);
    ASSERT_THAT(plan.processes, SizeIs(node == 0 ? 3 : 2));
    for (std::size_t i = 0; i < 2; ++i) {
      const Process& process = plan.processes[i];
      const std::string rank = std::to_string(static_cast<std::size_t>(node) * 2 + i);
      auto variable = [&](std::string_view name) {
        return launcher_case.variable(plan, process, name);
      };
      EXPECT_EQ(process.name, "rank-" + rank);
      EXPECT_EQ(std::to_string(process.rank), rank);
      EXPECT_EQ(line_of(process.argv), "python train.py");
      EXPECT_EQ(variable("MS_ROLE"), "MS_WORKER");
      EXPECT_EQ(variable("MS_SCHED_HOST"), "host-0");
      EXPECT_EQ(variable("MS_SCHED_PORT"), "7000");
      EXPECT_EQ(variable("MS_WORKER_NUM"), "4");
      EXPECT_EQ(variable("MS_NODE_ID"), rank);
      EXPECT_EQ(variable("DEVICE_ID"), std::to_string(i));
      EXPECT_EQ(process.log, i == 0 ? "" : "/logs/rank-" + rank + ".log");
    }
    if (node == 1) continue;
    const Process& scheduler = plan.processes[2];
    EXPECT_EQ(scheduler.name, "scheduler");
    EXPECT_EQ(scheduler.rank, -1) << "it is no rank";
    EXPECT_EQ(launcher_case.variable(plan, scheduler, "MS_ROLE"), "MS_SCHED");
    EXPECT_EQ(launcher_case.variable(plan, scheduler, "MS_NODE_ID"), "(unset)");
    EXPECT_EQ(scheduler.log, "/logs/scheduler.log");
  }
}

TEST(DynamicCluster, ThePlatformMayPutTheSchedulerElsewhere) {
  LauncherCase launcher_case = train({0, 2}, 0);
  launcher_case.resolved.platform.mindspore_scheduler = true;
  const Plan scheduler = launcher_case.planned(launch_dynamic_cluster);
  ASSERT_THAT(scheduler.processes, SizeIs(1));
  EXPECT_EQ(scheduler.processes[0].name, "scheduler");
  EXPECT_EQ(scheduler.processes[0].log, "") << "nobody else speaks there";
  launcher_case = train({2, 2}, 0);
  launcher_case.resolved.platform.mindspore_scheduler = false;
  EXPECT_THAT(launcher_case.planned(launch_dynamic_cluster).processes, SizeIs(2));
}

TEST(DynamicCluster, TheOperatorsVariablesAndTablesDoNotMislead) {
  LauncherCase launcher_case = train({1, 1}, 1);
  launcher_case.with_environment({"MS_ROLE=MS_SCHED", "MS_NODE_RANK=2", "RANK_TABLE_FILE=/x",
                                  "RANK_ID=9", "LOCAL_RANK=0,1", "MS_TOPO_TIMEOUT=30"});
  const Plan plan = launcher_case.planned(launch_dynamic_cluster);
  auto variable = [&](std::string_view name) {
    return launcher_case.variable(plan, plan.processes[0], name);
  };
  EXPECT_EQ(variable("MS_ROLE"), "MS_WORKER");
  EXPECT_EQ(variable("RANK_ID"), "1");
  for (const char* name : {"MS_NODE_RANK", "RANK_TABLE_FILE", "LOCAL_RANK"}) {
    EXPECT_EQ(variable(name), "(unset)") << name;
  }
  EXPECT_EQ(variable("MS_TOPO_TIMEOUT"), "30") << "chosen by the user";
}

TEST(Ascend, TheLauncherIsTheUsersChoiceElseThePlatforms) {
  LauncherCase launcher_case = train({2}, 0);
  EXPECT_THAT(launcher_case.error(kLaunchAscend), HasSubstr("--ascend-launcher"));
  launcher_case.resolved.platform.ascend_launcher = AscendLauncher::kDynamic;
  EXPECT_THAT(launcher_case.planned(kLaunchAscend).processes, SizeIs(3));
  launcher_case.request.ascend_launcher = AscendLauncher::kMsrun;
  EXPECT_THAT(main_line(launcher_case.planned(kLaunchAscend)), testing::StartsWith("msrun "));
}

TEST(DynamicCluster, ALaptopIsItsOwnScheduler) {
  LauncherCase launcher_case = train({}, 0);
  launcher_case.request.slots = 2;
  const Plan plan = launcher_case.planned(launch_dynamic_cluster);
  ASSERT_THAT(plan.processes, SizeIs(3));
  EXPECT_EQ(launcher_case.variable(plan, plan.processes[0], "MS_SCHED_HOST"), "127.0.0.1");
}

}  // namespace
}  // namespace envgen
