#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/framework/framework.h"
#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

PathState directory(bool writable) {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.writable = writable;
  return state;
}

LauncherCase job(std::vector<std::string> command, const std::vector<int>& slots, int node_rank) {
  LauncherCase launcher_case(std::move(command), slots, node_rank);
  launcher_case.snapshot.facts.program = "/bin/trainit";
  for (const char* name :
       {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"}) {
    launcher_case.snapshot.paths["/usr/bin/" + std::string(name)] = {};
  }
  for (const char* name : {"orted", "prted", "ompi_info"}) {
    launcher_case.snapshot.paths["/usr/bin/" + std::string(name)] = {};
  }
  launcher_case.snapshot.paths["/usr/bin/mpirun"].kind = PathState::Kind::kFile;
  launcher_case.snapshot.paths["/usr/bin/orted"].kind = PathState::Kind::kFile;
  return launcher_case;
}

LauncherCase train(const std::vector<int>& slots, int node_rank) {
  return job({"python", "train.py"}, slots, node_rank);
}

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

std::string main_variable(const LauncherCase& launcher_case, const Plan& plan,
                          std::string_view name) {
  EXPECT_EQ(plan.processes.size(), 1U);
  return launcher_case.variable(plan, plan.processes[0], name);
}

TEST(Mpi, TheFirstNodeLaunchesAndTheOthersServe) {
  const Plan first = train({4, 4}, 0).planned(kLaunchMpi);
  EXPECT_EQ(main_line(first), "mpirun -np 8 python train.py");
  EXPECT_EQ(first.processes[0].cwd, "/srv/job");
  EXPECT_EQ(first.services.size(), 1U);
  ASSERT_TRUE(first.peers);
  EXPECT_THAT(first.peers->hosts, ElementsAre("host-1"));
  EXPECT_EQ(first.post_stop.size(), 1U);

  const Plan last = train({4, 4}, 1).planned(kLaunchMpi);
  EXPECT_THAT(main_line(last), StartsWith("/bin/trainit peer serve --dir /run/trainit/ssh"));
  EXPECT_FALSE(last.peers);
  EXPECT_THAT(last.services, IsEmpty());
  EXPECT_THAT(last.post_stop, IsEmpty());
}

TEST(Mpi, HostfilesHaveTheSameBytesOnEveryNodeAndVariablesNameThem) {
  for (int node = 0; node < 2; ++node) {
    const LauncherCase launcher_case = train({4, 2}, node);
    const Plan plan = launcher_case.planned(kLaunchMpi);
    EXPECT_EQ(file(plan, "/run/trainit/mpi/hostfile"), "host-0 slots=4\nhost-1 slots=2\n");
    EXPECT_EQ(file(plan, "/run/trainit/mpi/mpich_hostfile"), "host-0:4\nhost-1:2\n");
    EXPECT_THAT(plan.directories, Contains(PlannedDirectory{"/run/trainit/mpi"}));
    auto variable = [&](std::string_view name) { return main_variable(launcher_case, plan, name); };
    EXPECT_EQ(variable("OMPI_MCA_orte_default_hostfile"), "/run/trainit/mpi/hostfile");
    EXPECT_EQ(variable("PRTE_MCA_prte_default_hostfile"), "/run/trainit/mpi/hostfile");
    EXPECT_EQ(variable("HYDRA_HOST_FILE"), "/run/trainit/mpi/mpich_hostfile");
    EXPECT_EQ(variable("I_MPI_HYDRA_HOST_FILE"), "/run/trainit/mpi/mpich_hostfile");
    EXPECT_EQ(variable("HYDRA_IFACE"), "(unset)") << "no platform promised an interface";
    EXPECT_EQ(variable("I_MPI_PERHOST"), "(unset)") << "one number cannot say 4 and 2";
  }
  const LauncherCase even = train({4, 4}, 0);
  EXPECT_EQ(main_variable(even, even.planned(kLaunchMpi), "I_MPI_PERHOST"), "4");
}

TEST(Mpi, NamesThatOpenMpiMayNotReachAreOneWarning) {
  LauncherCase launcher_case = train({4, 4}, 0);
  for (Node& node : launcher_case.resolved.cluster.nodes) node.host = "a_" + node.host;
  EXPECT_THAT(launcher_case.planned(kLaunchMpi).warnings,
              ElementsAre(AllOf(HasSubstr("\"a_host-0\""), HasSubstr("and 1 more"))));
}

TEST(Mpi, ThePromisedPlacesAreUsedWhenTheyCanBeWritten) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.resolved.platform.openmpi_hostfile = "/etc/mpi/hostfile";
  launcher_case.resolved.platform.mpich_hostfile = "/etc/mpi/mpich_hostfile";
  launcher_case.snapshot.paths["/etc/mpi"] = {};
  launcher_case.snapshot.paths["/etc"] = directory(true);
  Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(file(plan, "/etc/mpi/hostfile"), "host-0 slots=1\nhost-1 slots=1\n");
  EXPECT_EQ(file(plan, "/etc/mpi/mpich_hostfile"), "host-0:1\nhost-1:1\n");
  EXPECT_EQ(main_variable(launcher_case, plan, "HYDRA_HOST_FILE"), "/etc/mpi/mpich_hostfile");
  EXPECT_THAT(plan.warnings, IsEmpty());

  launcher_case.snapshot.paths["/etc"] = directory(false);
  plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(file(plan, "/etc/mpi/hostfile"), "(no file)");
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_MCA_orte_default_hostfile"),
            "/run/trainit/mpi/hostfile");
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("/etc/mpi/mpich_hostfile cannot be written")));
}

TEST(Mpi, HostfilesThatThePlatformGaveAreUsedAndNotWritten) {
  LauncherCase launcher_case = train({0, 2}, 0);
  launcher_case.resolved.cluster.nodes[0].role = "launcher";
  launcher_case.resolved.platform.hostfiles_given = true;
  launcher_case.resolved.platform.openmpi_hostfile = "/etc/mpi/hostfile";
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_MCA_orte_default_hostfile"),
            "/etc/mpi/hostfile");
  EXPECT_EQ(main_variable(launcher_case, plan, "HYDRA_HOST_FILE"), "(unset)");
  for (const PlannedFile& planned : plan.files) {
    EXPECT_THAT(planned.path, Not(HasSubstr("hostfile")));
  }
}

TEST(Mpi, ALauncherWithoutSlotsStaysOutOfTheHostfile) {
  LauncherCase launcher_case = train({2, 2, 0}, 2);
  launcher_case.resolved.cluster.nodes[2].role = "launcher";
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_line(plan), "mpirun -np 4 python train.py");
  EXPECT_EQ(file(plan, "/run/trainit/mpi/hostfile"), "host-0 slots=2\nhost-1 slots=2\n");
  EXPECT_THAT(plan.peers->hosts, ElementsAre("host-0", "host-1"));

  launcher_case.resolved.local_node.node_rank = 0;
  EXPECT_THAT(main_line(launcher_case.planned(kLaunchMpi)), HasSubstr("peer serve"));
}

TEST(Mpi, TheSshPortReachesEveryLauncherBeforeTheUsersOwnArguments) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.request.ssh_port = 5022;
  launcher_case.with_environment({"OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10"});
  const Plan plan = launcher_case.planned(kLaunchMpi);
  auto variable = [&](std::string_view name) { return main_variable(launcher_case, plan, name); };
  const std::string arguments = variable("PRTE_MCA_plm_ssh_args");
  EXPECT_THAT(arguments, StartsWith("-p 5022 "));
  EXPECT_EQ(variable("OMPI_MCA_plm_rsh_args"), arguments + " -o ConnectionAttempts=10");
  EXPECT_EQ(variable("HYDRA_LAUNCHER_EXTRA_ARGS"), arguments);
  EXPECT_EQ(variable("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"), arguments);
  EXPECT_EQ(variable("I_MPI_HYDRA_BOOTSTRAP"), "ssh");
}

TEST(Mpi, OpenMpiMayRunAsRootWhereWeDo) {
  LauncherCase launcher_case = train({1, 1}, 0);
  Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_ALLOW_RUN_AS_ROOT"), "1");
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
  launcher_case.snapshot.facts.uid = 1000;
  plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_ALLOW_RUN_AS_ROOT"), "(unset)");
  EXPECT_THAT(main_variable(launcher_case, plan, "OMPI_MCA_plm_rsh_args"), StartsWith("-p 2222 "));
}

constexpr const char* kKeep = "OMPI_MCA_orte_keep_fqdn_hostnames";
constexpr const char* kKeepOf5 = "PRTE_MCA_prte_keep_fqdn_hostnames";

LauncherCase named(const std::vector<std::string>& hosts, const std::string& own, int node = 0) {
  LauncherCase launcher_case = train(std::vector<int>(hosts.size(), 1), node);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    launcher_case.resolved.cluster.nodes[i].host = hosts[i];
  launcher_case.snapshot.facts.host_name = own;
  return launcher_case;
}

TEST(Mpi, NamesOfOtherHostsKeepTheirDomains) {
  const struct {
    std::vector<std::string> hosts;
    const char* keep;
    const char* keep_of_5;
  } cases[] = {
      {{"pod-0", "pod-1"}, "(unset)", "(unset)"},
      {{"pod-0.svc", "pod-1"}, "(unset)", "(unset)"},
      {{"10.0.0.1", "10.0.0.2"}, "(unset)", "(unset)"},
      {{"pod-0.svc", "pod-1.svc"}, "1", "(unset)"},
      {{"pod-0", "pod-1.job.default.svc"}, "1", "(unset)"},
      {{"w-0.a", "w-0.b"}, "1", "1"},
  };
  for (const auto& each : cases) {
    for (int node = 0; node < 2; ++node) {
      const LauncherCase launcher_case = named(each.hosts, "pod-0", node);
      const Plan plan = launcher_case.planned(kLaunchMpi);
      EXPECT_EQ(main_variable(launcher_case, plan, kKeep), each.keep) << each.hosts[1];
      EXPECT_EQ(main_variable(launcher_case, plan, kKeepOf5), each.keep_of_5) << each.hosts[1];
    }
  }
}

TEST(Mpi, DomainsAreCutWhereTheUserSaysSo) {
  LauncherCase launcher_case = named({"w-0.a", "w-0.b"}, "w-0");
  launcher_case.with_environment({std::string(kKeep) + "=0", std::string(kKeepOf5) + "=false"});
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_variable(launcher_case, plan, kKeep), "0");
  EXPECT_EQ(main_variable(launcher_case, plan, kKeepOf5), "false");
}

// mpirun would start its own host by ssh.
TEST(Mpi, TheLauncherFindsItselfInItsHostfile) {
  const auto hostfile = [](const LauncherCase& launcher_case) {
    return file(launcher_case.planned(kLaunchMpi), "/run/trainit/mpi/hostfile");
  };
  constexpr const char* kOwn = "pod-0 slots=1\npod-1.svc slots=1\n";
  EXPECT_EQ(hostfile(named({"pod-0.svc", "pod-1.svc"}, "pod-0")), kOwn);
  EXPECT_EQ(hostfile(named({"pod-0", "pod-1.svc"}, "pod-0")), kOwn);
  EXPECT_EQ(hostfile(named({"pod-0", "pod-1.svc"}, "pod-0.svc")),
            "pod-0.svc slots=1\npod-1.svc slots=1\n");
  constexpr const char* kTold = "pod-0.svc slots=1\npod-1.svc slots=1\n";
  EXPECT_EQ(hostfile(named({"pod-0.svc", "pod-1.svc"}, "machine")), kTold);
  EXPECT_EQ(hostfile(named({"pod-0.svc", "pod-1"}, "pod-0")), "pod-0.svc slots=1\npod-1 slots=1\n")
      << "domains are cut";
  EXPECT_EQ(hostfile(named({"10.0.0.1", "pod-1.svc"}, "pod-0")),
            "10.0.0.1 slots=1\npod-1.svc slots=1\n");
  EXPECT_EQ(file(named({"pod-0.svc", "pod-1.svc"}, "pod-0").planned(kLaunchMpi),
                 "/run/trainit/mpi/mpich_hostfile"),
            "pod-0.svc:1\npod-1.svc:1\n");
}

TEST(Mpi, OpenMpisStepsFitTheTermPhaseAndAreTheSameOnEveryNode) {
  // Twice the time and a second for mpirun, of what the grace leaves after 1 s for KILL and 2 s for
  // ending the workers.
  for (auto [grace_ms, seconds] : {std::pair{8000, "2"}, {25000, "10"}, {60000, "28"}}) {
    for (int node = 0; node < 2; ++node) {
      LauncherCase launcher_case = train({1, 1}, node);
      launcher_case.plan.policy.grace_ms = grace_ms;
      const Plan plan = launcher_case.planned(kLaunchMpi);
      for (const char* name :
           {"OMPI_MCA_odls_base_sigkill_timeout", "PRTE_MCA_odls_base_sigkill_timeout"}) {
        EXPECT_EQ(main_variable(launcher_case, plan, name), seconds) << grace_ms;
      }
      EXPECT_THAT(plan.warnings, IsEmpty());
    }
  }
  LauncherCase hasty = train({1, 1}, 0);
  hasty.plan.policy.grace_ms = 4000;
  EXPECT_THAT(hasty.planned(kLaunchMpi).warnings,
              Contains(AllOf(HasSubstr("needs 3 s"), HasSubstr("leaves it 1 s"))));
  // Three quarters of the grace are shared by what is kept of it.
  hasty.plan.policy.grace_ms = 2000;
  EXPECT_THAT(hasty.planned(kLaunchMpi).warnings, Contains(HasSubstr("leaves it 0.5 s")));
  // The drain runs beside the pre-stop hooks.
  LauncherCase drained = train({1, 1}, 0);
  drained.plan.policy.grace_ms = 25000;
  drained.plan.policy.pre_stop_ms = 6000;
  drained.plan.policy.drain_ms = 4000;
  drained.plan.hooks = {{HookEvent::kPreStop, {"/h/a"}, "", 1000, false}};
  EXPECT_EQ(
      main_variable(drained, drained.planned(kLaunchMpi), "OMPI_MCA_odls_base_sigkill_timeout"),
      "7");
  LauncherCase chosen = train({1, 1}, 0);
  chosen.with_environment({"OMPI_MCA_odls_base_sigkill_timeout=3"});
  EXPECT_EQ(main_variable(chosen, chosen.planned(kLaunchMpi), "OMPI_MCA_odls_base_sigkill_timeout"),
            "3");
}

TEST(Mpi, OneNodeLaunchesWithoutSsh) {
  const LauncherCase launcher_case = train({4}, 0);
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_line(plan), "mpirun -np 4 python train.py");
  EXPECT_EQ(file(plan, "/run/trainit/mpi/hostfile"), "localhost slots=4\n");
  EXPECT_EQ(file(plan, "/run/trainit/mpi/mpich_hostfile"), "localhost:4\n");
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_MCA_plm_rsh_args"), "(unset)");
  EXPECT_FALSE(plan.peers);
  EXPECT_THAT(plan.services, IsEmpty());
  EXPECT_THAT(plan.post_stop, IsEmpty());
}

TEST(Mpi, ALaptopRunsARankPerDevice) {
  LauncherCase launcher_case = train({}, 0);
  launcher_case.request.slots = 3;
  EXPECT_EQ(main_line(launcher_case.planned(kLaunchMpi)), "mpirun -np 3 python train.py");
}

TEST(Mpi, ACommandThatLaunchesByItselfStaysAsItIs) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"mpirun", "-np", "16", "python", "train.py"},
        {"/opt/intel/mpiexec.hydra", "-n", "2", "x"},
        {"bash", "-c", "cd /x && mpirun -np 4 python train.py"},
        {"/bin/sh", "-ec", "exec /opt/mpich/bin/mpiexec -n 2 x"},
        {"bash", "-c", "(horovodrun -np 4 python train.py)"},
        {"numactl", "-i", "all", "mpirun.openmpi", "x"},
        {"horovodrun", "-np", "4", "python", "train.py"}}) {
    EXPECT_EQ(job(command, {2, 2}, 0).planned(kLaunchMpi).processes[0].argv, command);
    EXPECT_EQ(job(command, {2, 2}, 0).planned(kLaunchHorovod).processes[0].argv, command);
  }
}

TEST(Mpi, ANameThatOnlyBeginsLikeALaunchersIsLaunched) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "mpiexec_bench.py"},
        {"python", "/data/mpirun/train.py"},
        {"bash", "-c", "python mpirun_bench.py --tool=my-mpiexec"},
        {"python", "-c", "import horovodrun_tools"}}) {
    EXPECT_EQ(main_line(job(command, {2, 2}, 0).planned(kLaunchMpi)),
              "mpirun -np 4 " + line_of(command));
  }
}

TEST(Mpi, WhereThePlatformHasFlagsOfItsOwnALineThatContainsMpirunGetsNone) {
  LauncherCase launcher_case = job({"python", "mpirun_bench.py"}, {1, 1}, 0);
  launcher_case.resolved.platform.mpirun_prefix = {"--allow-run-as-root", "-x", "A"};
  EXPECT_EQ(main_line(launcher_case.planned(kLaunchHorovod)), "python mpirun_bench.py");
  launcher_case.resolved.platform.command = std::vector<std::string>{"python", "mpiexec_bench.py"};
  EXPECT_EQ(main_line(launcher_case.planned(kLaunchHorovod)),
            "mpirun --allow-run-as-root -np 2 -x A python mpiexec_bench.py");
}

TEST(Mpi, AWorkerThatKnowsNoOneTellsItsSessionsNothingOfTheCluster) {
  LauncherCase launcher_case = train({0, 0}, 1);
  launcher_case.resolved.cluster.nodes[0] = {.host = "", .role = "launcher"};
  launcher_case.resolved.platform.hostfiles_given = true;
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_THAT(main_line(plan), HasSubstr("peer serve"));
  EXPECT_THAT(plan.files, IsEmpty());
  for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                           "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST"}) {
    EXPECT_EQ(main_variable(launcher_case, plan, name), "(unset)") << name;
  }
  EXPECT_EQ(main_variable(launcher_case, plan, kKeep), "(unset)") << "mpirun tells its daemons";
  EXPECT_THAT(main_variable(launcher_case, plan, "OMPI_MCA_plm_rsh_args"), StartsWith("-p 22 "));

  launcher_case.resolved.local_node.node_rank = 0;
  EXPECT_THAT(launcher_case.error(kLaunchMpi), HasSubstr("--slots"));
}

TEST(Mpi, ALauncherWithAnotherNameIsUsedWhereThereIsNoMpirun) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.snapshot.paths["/usr/bin/mpirun"] = {};
  EXPECT_THAT(main_line(launcher_case.planned(kLaunchMpi)), StartsWith("mpirun -np 2"))
      << "a plan does not need the program";
  launcher_case.snapshot.paths["/usr/bin/mpiexec.hydra"].kind = PathState::Kind::kFile;
  EXPECT_THAT(main_line(launcher_case.planned(kLaunchMpi)), StartsWith("mpiexec.hydra -np 2"));
}

TEST(Horovod, GetsTheFlagsOfItsOwnLauncher) {
  constexpr const char* kLine =
      "mpirun --allow-run-as-root -np 16 --bind-to none --map-by slot -x NCCL_DEBUG=INFO "
      "-x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib python train.py";
  EXPECT_EQ(main_line(train({4, 4, 4, 4}, 0).planned(kLaunchHorovod)), kLine);
  EXPECT_THAT(main_line(train({4, 4, 4, 4}, 3).planned(kLaunchHorovod)), HasSubstr("peer serve"));
}

TEST(Horovod, AnotherEnginesMpirunGetsNoFlagsOfOpenMpi) {
  for (bool platform : {false, true}) {
    LauncherCase launcher_case = train({1, 1}, 0);
    if (platform)
      launcher_case.resolved.platform.mpirun_prefix = {"--allow-run-as-root", "-x", "A"};
    launcher_case.snapshot.paths["/usr/bin/orted"] = {};
    EXPECT_EQ(main_line(launcher_case.planned(kLaunchHorovod)), "mpirun -np 2 python train.py");
    for (const char* marker : {"orted", "prted", "ompi_info", "mpirun.openmpi"}) {
      LauncherCase openmpi = launcher_case;
      openmpi.snapshot.paths["/usr/bin/" + std::string(marker)].kind = PathState::Kind::kFile;
      EXPECT_THAT(main_line(openmpi.planned(kLaunchHorovod)),
                  StartsWith("mpirun --allow-run-as-root -np 2 -"))
          << marker;
    }
    launcher_case.snapshot.paths["/usr/bin/mpirun"] = {};
    EXPECT_THAT(main_line(launcher_case.planned(kLaunchHorovod)),
                StartsWith("mpirun --allow-run-as-root"))
        << "nothing is known";
    launcher_case.snapshot.paths["/usr/bin/mpiexec.hydra"].kind = PathState::Kind::kFile;
    EXPECT_EQ(main_line(launcher_case.planned(kLaunchHorovod)),
              "mpiexec.hydra -np 2 python train.py");
  }
}

TEST(Horovod, APlatformsOwnFlagsReplaceThem) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.resolved.platform.mpirun_prefix = {"--allow-run-as-root", "-x", "A"};
  EXPECT_EQ(main_line(launcher_case.planned(kLaunchHorovod)),
            "mpirun --allow-run-as-root -np 2 -x A python train.py");
}

TEST(Mpi, RanksOfOthersDoNotMislead) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.with_environment(
      {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0,1", "PMI_RANK=3", "OMPI_COMM_WORLD_RANK=1"});
  const Plan plan = launcher_case.planned(kLaunchMpi);
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    EXPECT_EQ(main_variable(launcher_case, plan, name), "(unset)") << name;
  }
  EXPECT_EQ(main_variable(launcher_case, plan, "HYDRA_LAUNCHER"), "(unset)");
  EXPECT_EQ(main_variable(launcher_case, plan, "OMPI_MCA_plm"), "(unset)");
}

TEST(Mpi, InASlurmAllocationTheJobKeepsItsNumberAndTheLaunchersUseSsh) {
  for (const std::vector<int>& slots : {std::vector<int>{2}, std::vector<int>{1, 1}}) {
    LauncherCase launcher_case = train(slots, 0);
    launcher_case.with_environment({"SLURM_JOB_ID=7", "SLURM_JOBID=7", "SLURM_NODELIST=n[1-2]",
                                    "SLURM_PROCID=1", "SLURM_LOCALID=0", "SLURM_STEP_ID=0",
                                    "SLURM_NTASKS=2", "SLURM_CPUS_PER_TASK=4"});
    const Plan plan = launcher_case.planned(kLaunchMpi);
    auto variable = [&](std::string_view name) { return main_variable(launcher_case, plan, name); };
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) EXPECT_EQ(variable(name), "7");
    EXPECT_EQ(variable("SLURM_NODELIST"), "n[1-2]");
    EXPECT_EQ(variable("SLURM_CPUS_PER_TASK"), "4");
    for (const char* name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_ID", "SLURM_NTASKS"}) {
      EXPECT_EQ(variable(name), "(unset)") << name;
    }
    for (const char* name : {"OMPI_MCA_plm", "OMPI_MCA_ras", "PRTE_MCA_plm", "PRTE_MCA_ras"}) {
      EXPECT_EQ(variable(name), "^slurm") << name;
    }
    EXPECT_EQ(variable("HYDRA_LAUNCHER"), "ssh");
    EXPECT_EQ(variable("HYDRA_RMK"), "user");
    EXPECT_EQ(variable("I_MPI_HYDRA_BOOTSTRAP"), "ssh");
    EXPECT_EQ(variable("I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"), "0");
  }
}

TEST(Mpi, WhereSlurmStartsTheRanksTheCommandRunsAsItIs) {
  LauncherCase launcher_case = train({2, 2}, 1);
  launcher_case.resolved.platform.own_rank = 3;
  launcher_case.with_environment({"PMI_RANK=3", "SLURM_PROCID=3"});
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(main_line(plan), "python train.py");
  EXPECT_EQ(main_variable(launcher_case, plan, "PMI_RANK"), "3");
  EXPECT_EQ(main_variable(launcher_case, plan, "SLURM_PROCID"), "3");
}

TEST(Mpi, ARankThatSlurmStartedDoesNotBelieveTheImagesRank) {
  LauncherCase launcher_case = train({2, 2}, 1);
  launcher_case.resolved.platform.own_rank = 3;
  launcher_case.request.output = Output::kFiles;
  launcher_case.with_environment(
      {"RANK=9", "LOCAL_RANK=7", "WORLD_SIZE=64", "NODE_RANK=2", "SLURM_PROCID=3"});
  for (auto launch : {kLaunchMpi, kLaunchHorovod, kLaunchSingle}) {
    const Plan plan = launcher_case.planned(launch);
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK"}) {
      EXPECT_EQ(main_variable(launcher_case, plan, name), "(unset)") << name;
    }
    EXPECT_EQ(plan.processes[0].log, "/logs/rank-3.log") << "one for each task of a node";
  }
}

TEST(Single, LeavesTheEnvironmentAsItIs) {
  LauncherCase launcher_case = train({}, 0);
  launcher_case.with_environment({"RANK=9", "LOCAL_RANK=7"});
  const Plan plan = launcher_case.planned(kLaunchSingle);
  EXPECT_THAT(plan.processes[0].env, IsEmpty());
  EXPECT_THAT(plan.env, IsEmpty());
}

TEST(Mpi, AMissingHostNameOrRankIsAnError) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.resolved.cluster.nodes[1].host = "";
  EXPECT_THAT(launcher_case.error(kLaunchMpi), HasSubstr("node 1"));
  EXPECT_THAT(train({0, 0}, 0).error(kLaunchMpi), HasSubstr("--slots"));
}

TEST(Mpi, AnIpv6ClusterHasNoHostfileForHydraButOneForOpenMpi) {
  LauncherCase launcher_case = train({1, 1}, 0);
  launcher_case.resolved.cluster.nodes[1].host = "fd00::2";
  const Plan plan = launcher_case.planned(kLaunchMpi);
  EXPECT_EQ(file(plan, "/run/trainit/mpi/hostfile"), "host-0 slots=1\nfd00::2 slots=1\n");
  EXPECT_EQ(main_variable(launcher_case, plan, "HYDRA_HOST_FILE"), "(unset)");
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("IPv6")));
}

}  // namespace
}  // namespace envgen
