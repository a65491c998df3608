#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/framework/framework.h"
#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

LauncherCase job(std::vector<std::string> command, const std::vector<int>& slots, int node_rank,
                 bool job_directory_writable = true) {
  LauncherCase launcher_case(std::move(command), slots, node_rank);
  launcher_case.snapshot.facts.program = "/bin/trainit";
  launcher_case.snapshot.paths["/usr/bin/ssh"].kind = PathState::Kind::kFile;
  launcher_case.snapshot.paths["/job"] = {};
  PathState& root = launcher_case.snapshot.paths["/"];
  root.kind = PathState::Kind::kDirectory;
  root.writable = job_directory_writable;
  return launcher_case;
}

const std::vector<std::string> kTyped = {"deepspeed", "train.py", "--deepspeed_config", "ds.json"};

std::string file(const Plan& plan, std::string_view path) {
  for (const PlannedFile& planned : plan.files) {
    if (planned.path == path) return planned.content.text();
  }
  return "(no file)";
}

std::string main_line(const Plan& plan) {
  EXPECT_EQ(plan.processes.size(), 1U);
  return plan.processes.empty() ? "" : line_of(plan.processes[0].argv);
}

TEST(DeepSpeed, TheFirstNodeRunsWhatWasTypedAndTheOthersServe) {
  const Plan first = job(kTyped, {4, 4}, 0).planned(kLaunchDeepspeed);
  EXPECT_EQ(main_line(first), line_of(kTyped));
  EXPECT_THAT(first.peers->hosts, ElementsAre("host-1"));
  EXPECT_EQ(first.services.size(), 1U) << "deepspeed reaches its own node by ssh too";
  const Plan last = job(kTyped, {4, 4}, 1).planned(kLaunchDeepspeed);
  EXPECT_THAT(main_line(last), StartsWith("/bin/trainit peer serve"));
  for (const Plan* plan : {&first, &last}) {
    EXPECT_EQ(file(*plan, "/job/hostfile"), "host-0 slots=4\nhost-1 slots=4\n");
  }
}

TEST(DeepSpeed, AHostfileThatMovesIsNamedToDeepspeed) {
  const std::string moved = "/run/trainit/deepspeed/hostfile";
  for (int node = 0; node < 2; ++node) {
    const Plan plan = job(kTyped, {4, 4}, node, false).planned(kLaunchDeepspeed);
    EXPECT_EQ(file(plan, moved), "host-0 slots=4\nhost-1 slots=4\n");
    EXPECT_EQ(file(plan, "/job/hostfile"), "(no file)");
    EXPECT_THAT(plan.warnings, Contains(HasSubstr(moved)));
  }
  auto line = [](std::vector<std::string> command) {
    return main_line(job(std::move(command), {4, 4}, 0, false).planned(kLaunchDeepspeed));
  };
  EXPECT_EQ(line(kTyped), "deepspeed --hostfile " + moved + " train.py --deepspeed_config ds.json");
  EXPECT_EQ(line({"python", "-m", "deepspeed.launcher.runner", "x.py"}),
            "python -m deepspeed.launcher.runner --hostfile " + moved + " x.py");
  EXPECT_EQ(line({"deepspeed", "--hostfile=/mine", "x.py"}), "deepspeed --hostfile=/mine x.py");
  EXPECT_EQ(line({"bash", "-c", "deepspeed x.py"}), "bash -c deepspeed x.py");
}

TEST(DeepSpeed, APythonCommandGetsDeepspeedInFront) {
  auto line = [](std::vector<std::string> command) {
    return main_line(job(std::move(command), {4, 4}, 0).planned(kLaunchDeepspeed));
  };
  const std::string flags = "deepspeed --master_addr=host-0 --master_port=29500 ";
  EXPECT_EQ(line({"python", "train.py", "--x"}), flags + "train.py --x");
  EXPECT_EQ(line({"python3", "-m", "pkg.train", "--x"}), flags + "--module pkg.train --x");
  EXPECT_EQ(line({"./train.sh"}), "./train.sh");
}

TEST(DeepSpeed, SaysWhenTheCommandMayRunOnOneNodeOnly) {
  EXPECT_THAT(job({"./train.sh"}, {4, 4}, 0).planned(kLaunchDeepspeed).warnings,
              Contains(HasSubstr("alone unless it starts deepspeed")));
  EXPECT_THAT(job(kTyped, {4, 4}, 0).planned(kLaunchDeepspeed).warnings, IsEmpty());
}

TEST(DeepSpeed, ItsBareSshCallsGetThePortAndTheKey) {
  LauncherCase launcher_case = job(kTyped, {4, 4}, 0);
  launcher_case.request.ssh_port = 5022;
  launcher_case.with_environment({"PDSH_SSH_ARGS_APPEND=-v"});
  const Plan plan = launcher_case.planned(kLaunchDeepspeed);
  auto variable = [&](std::string_view name) {
    return launcher_case.variable(plan, plan.processes[0], name);
  };
  EXPECT_THAT(
      file(plan, "/run/trainit/ssh/bin/ssh"),
      AllOf(StartsWith("#!/bin/sh\nexec /usr/bin/ssh -p 5022 -o "), HasSubstr(" \"$@\"\n")));
  EXPECT_EQ(variable("PATH"), "/run/trainit/ssh/bin:/usr/bin");
  EXPECT_THAT(variable("PDSH_SSH_ARGS_APPEND"),
              AllOf(StartsWith("-p 5022 "), testing::EndsWith(" -v")));
  EXPECT_EQ(variable("PDSH_RCMD_TYPE"), "ssh");
}

TEST(DeepSpeed, TheMasterIsTheFirstNodeWithRanks) {
  LauncherCase launcher_case = job(kTyped, {0, 4, 4}, 0);
  launcher_case.resolved.cluster.nodes[0].role = "launcher";
  launcher_case.resolved.cluster.master_addr = "host-0";
  launcher_case.resolved.cluster.master_port = 2222;
  launcher_case.with_environment({"MASTER_ADDR=stale", "RANK=2", "WORLD_SIZE=3"});
  const Plan plan = launcher_case.planned(kLaunchDeepspeed);
  auto variable = [&](std::string_view name) {
    return launcher_case.variable(plan, plan.processes[0], name);
  };
  EXPECT_EQ(variable("MASTER_ADDR"), "host-1");
  EXPECT_EQ(variable("MASTER_PORT"), "2222");
  EXPECT_EQ(variable("RANK"), "(unset)");
  EXPECT_EQ(variable("WORLD_SIZE"), "(unset)");
  EXPECT_EQ(file(plan, "/job/hostfile"), "host-1 slots=4\nhost-2 slots=4\n");
}

TEST(DeepSpeed, WhatThePlatformPromisesStays) {
  LauncherCase launcher_case = job(kTyped, {4, 4}, 0);
  launcher_case.resolved.platform.env = {{base::EnvEdit::Kind::kSet, "WORLD_SIZE", "2"},
                                         {base::EnvEdit::Kind::kSet, "MASTER_ADDR", "localhost"}};
  launcher_case.with_environment({"WORLD_SIZE=2"});
  const Plan plan = launcher_case.planned(kLaunchDeepspeed);
  EXPECT_EQ(launcher_case.variable(plan, plan.processes[0], "WORLD_SIZE"), "2");
  EXPECT_EQ(launcher_case.variable(plan, plan.processes[0], "MASTER_ADDR"), "localhost");
}

TEST(DeepSpeed, OneNodeNeedsNeitherHostfileNorSsh) {
  const Plan plan = job({"python", "train.py"}, {4}, 0).planned(kLaunchDeepspeed);
  EXPECT_EQ(main_line(plan), "deepspeed --master_addr=127.0.0.1 --master_port=29500 train.py");
  EXPECT_THAT(plan.files, IsEmpty());
  EXPECT_THAT(plan.services, IsEmpty());
  EXPECT_FALSE(plan.peers);
}

TEST(DeepSpeed, ATaskThatThePlatformStartedIsARankOfItsOwn) {
  LauncherCase launcher_case = job({"python", "train.py"}, {2, 2}, 1);
  launcher_case.resolved.cluster.master_addr = "host-0";
  launcher_case.resolved.platform.own_rank = 3;
  launcher_case.resolved.platform.local_rank = 1;
  launcher_case.with_environment({"RANK=9", "LOCAL_RANK=7"});
  const Plan plan = launcher_case.planned(kLaunchDeepspeed);
  EXPECT_EQ(main_line(plan), "python train.py");
  auto variable = [&](std::string_view name) {
    return launcher_case.variable(plan, plan.processes[0], name);
  };
  EXPECT_EQ(variable("RANK"), "3");
  EXPECT_EQ(variable("LOCAL_RANK"), "1");
  EXPECT_EQ(variable("WORLD_SIZE"), "4");
  EXPECT_EQ(variable("MASTER_ADDR"), "host-0");
}

TEST(DeepSpeed, AMissingOrDoubleHostIsAnError) {
  LauncherCase launcher_case = job(kTyped, {4, 4}, 1);
  launcher_case.resolved.cluster.nodes[1].host = "host-0";
  EXPECT_THAT(launcher_case.error(kLaunchDeepspeed), HasSubstr("twice"));
  launcher_case.resolved.cluster.nodes[1].host = "";
  EXPECT_THAT(launcher_case.error(kLaunchDeepspeed), HasSubstr("node 1"));
}

}  // namespace
}  // namespace envgen
