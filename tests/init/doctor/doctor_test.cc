// doctor's checks of machines that are trees of files.

#include "init/doctor/doctor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "init/doctor/interfaces.h"
#include "init/doctor/machine.h"
#include "init/doctor/parallel.h"
#include "init/proc/load.h"
#include "init/proc/tree.h"
#include "tests/init/child.h"

namespace {

using doctor::CheckResult;
using doctor::CheckStatus;
using doctor::Context;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class Doctor : public child::Scratch {
 protected:
  Doctor() { context_.root = path(""); }

  void file(const std::string& name, const std::string& content = "") const {
    const std::size_t slash = name.rfind('/');
    if (slash != std::string::npos) {
      ASSERT_TRUE(sys::make_directories(path(name.substr(0, slash)), 0755));
    }
    write(name, content);
  }
  void program(const std::string& name, const std::string& script) {
    ASSERT_TRUE(sys::make_directories(path("bin"), 0755));
    write("bin/" + name, "#!/bin/sh\n" + script, 0755);
    context_.start.set("PATH", path("bin") + ":/usr/bin:/bin");
  }
  void set(const std::string& name, const std::string& value) {
    context_.env.apply({base::EnvEdit::Kind::kSet, name, value});
  }
  [[nodiscard]] std::vector<CheckResult> run(const std::string& check) const {
    return doctor::run_checks({check}, context_);
  }
  [[nodiscard]] CheckResult one(const std::string& check) const {
    const auto results = run(check);
    EXPECT_EQ(results.size(), 1U) << doctor::results_to_text(results, false, 0);
    return results.empty() ? CheckResult{} : results[0];
  }
  [[nodiscard]] std::string line(const std::string& check) const {
    const CheckResult result = one(check);
    return std::string(verdict_name(result.verdict)) + ": " + to_line(result);
  }

  Context context_;
};

// --- The runner ---

TEST(DoctorRunner, GivesUpAPartThatHangs) {
  const doctor::Part part{.check = "hangs", .place = "/mnt", .run = [] {
                            ::pause();
                            return doctor::Results{};
                          }};
  const auto lists = doctor::run_parts({&part, 1}, 100);
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0][0].verdict, CheckStatus::kFailed);
  EXPECT_EQ(lists[0][0].place, "/mnt");
  EXPECT_THAT(lists[0][0].found, HasSubstr("no answer"));
}

TEST(DoctorRunner, TellsAPartThatDiesFromOneThatSaysNothing) {
  const std::vector<doctor::Part> parts = {
      {.check = "dies",
       .place = "",
       .run =
           [] {
             ::raise(SIGSYS);
             return doctor::Results{};
           }},
      {.check = "silent", .place = "", .run = [] { return doctor::Results{}; }},
      {.check = "well", .place = "", .run = [] { return doctor::Results{{}, {}}; }},
  };
  const auto lists = doctor::run_parts(parts, 180'000);
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_THAT(lists[0][0].found, HasSubstr("SIGSYS"));
  EXPECT_THAT(lists[0][0].fix, HasSubstr("seccomp"));
  EXPECT_EQ(lists[1][0].verdict, CheckStatus::kFailed);
  EXPECT_EQ(lists[2].size(), 2U);
  EXPECT_EQ(lists[2][1].check, "well");
}

// Each opens its end of a FIFO, which waits for the other end.
TEST_F(Doctor, RunsAllPartsAtOnce) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  auto opens = [this](int flags) {
    return [this, flags] {
      const sys::Fd end(::open(path("fifo").c_str(), flags | O_CLOEXEC));
      return doctor::Results{{}};
    };
  };
  const std::vector<doctor::Part> parts = {
      {.check = "reads", .place = "", .run = opens(O_RDONLY)},
      {.check = "writes", .place = "", .run = opens(O_WRONLY)},
  };
  for (const doctor::Results& results : doctor::run_parts(parts, 180'000)) {
    EXPECT_EQ(results[0].verdict, CheckResult{}.verdict) << to_line(results[0]);
  }
}

// Of another user: root has no limit. Where a fork fails the others make room.
TEST(DoctorRunner, RunsAllPartsWhereFewProcessesMayBe) {
  const auto outcome = child::run([] {
    // The limit is one of all processes of a user: this one has no others, as in a test beside us.
    const uid_t nobody_else = 100'000 + static_cast<uid_t>(::getpid());
    const rlimit limit{3, 3};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setuid(nobody_else) != 0) return 77;
    const std::vector<doctor::Part> parts(
        40, {.check = "x", .place = "", .run = [] { return doctor::Results{{}}; }});
    for (const doctor::Results& results : doctor::run_parts(parts, 180'000)) {
      if (results[0].verdict != CheckResult{}.verdict) return 1;
    }
    return 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "may not be another user";
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

// Of the runner, once it waits for them: by then it has started what it may.
std::size_t parts_at_once() {
  const pid_t runner = ::getppid();
  for (auto seen = proc::find_member(runner); seen && seen->state != 'S';
       seen = proc::find_member(runner)) {
    ::sched_yield();
  }
  const auto loads = proc::all_loads();
  return static_cast<std::size_t>(std::ranges::count_if(loads, [runner](const proc::Load& load) {
    return load.parent == runner && load.state != 'Z';
  }));
}

TEST(DoctorRunner, RunsNoMorePartsAtOnceThanItIsTold) {
  const doctor::Part part{.check = "x", .place = "", .run = [] {
                            CheckResult result;
                            result.found = std::to_string(parts_at_once());
                            return doctor::Results{result};
                          }};
  const std::vector<doctor::Part> parts(8, part);
  for (const doctor::Results& results : doctor::run_parts(parts, 180'000, 1)) {
    EXPECT_EQ(results[0].found, "1");
  }
}

TEST(DoctorRunner, MakesTextOfWhateverBytesAreFound) {
  const doctor::Part part{.check = "x", .place = "", .run = [] {
                            CheckResult result;
                            result.found = "a\xff\nb\xc3\xa4";
                            return doctor::Results{result};
                          }};
  EXPECT_EQ(doctor::run_all({&part, 1}, 180'000)[0].found, "a?\\nb\xc3\xa4");
}

TEST(DoctorRunner, KnowsEachCheckByItsName) {
  EXPECT_THAT(*doctor::parse_check_names("shm, gpu"), ElementsAre("shm", "gpu"));
  EXPECT_THAT(*doctor::parse_check_names(""), IsEmpty());
  const auto wrong = doctor::parse_check_names("shm,gpus");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(to_line(wrong.error()), AllOf(HasSubstr("\"gpus\""), HasSubstr("peers")));
}

TEST_F(Doctor, SaysSomethingOfEachCheckAndWhatToDoAboutEachFault) {
  std::map<std::string, int> seen;
  for (const CheckResult& result : doctor::run_checks({}, context_)) {
    ++seen[result.check];
    EXPECT_FALSE(result.found.empty()) << result.check;
    const bool fault =
        result.verdict == CheckStatus::kFailed || result.verdict == CheckStatus::kWarning;
    EXPECT_EQ(fault, !result.fix.empty()) << to_line(result);
  }
  EXPECT_EQ(seen.size(), doctor::all_checks().size());
}

// --- Devices ---

TEST_F(Doctor, CountsDevicesByNumberAndNotTheirControlNodes) {
  for (const char* name : {"davinci0", "davinci1", "davinci2", "davinci10", "davinci_manager",
                           "devmm_svm", "hisi_hdc"}) {
    file(std::string("dev/") + name);
  }
  set("ASCEND_VISIBLE_DEVICES", "0-2,10");
  EXPECT_EQ(line("devices"), "ok: devices: NPU: /dev/davinci0 and 3 more");
}

TEST_F(Doctor, FindsFewerDevicesThanTheContainerWasToGet) {
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"}) {
    file(std::string("dev/") + name);
  }
  set("NVIDIA_VISIBLE_DEVICES", "0,1,2,3");
  EXPECT_THAT(line("devices"), AllOf(HasSubstr("failed"), HasSubstr("/dev has 2 GPUs")));
  set("NVIDIA_VISIBLE_DEVICES", "all");
  EXPECT_THAT(line("devices"), HasSubstr("ok: devices: GPU"));
  set("NVIDIA_VISIBLE_DEVICES", "GPU-513536b6-7d19-9063-b049-1e69664bb298");
  EXPECT_THAT(line("devices"), HasSubstr("ok"));
  set("CUDA_VISIBLE_DEVICES", "0,2");
  EXPECT_THAT(line("devices"), AllOf(HasSubstr("failed"), HasSubstr("from 0 to 1")));
}

TEST_F(Doctor, FindsNoneOfTheDevicesThatAVariableNames) {
  file("dev/null");
  set("ASCEND_VISIBLE_DEVICES", "0,1");
  EXPECT_THAT(line("devices"), AllOf(HasSubstr("failed"), HasSubstr("none in /dev")));
  set("ASCEND_VISIBLE_DEVICES", "void");
  EXPECT_THAT(line("devices"), HasSubstr("skipped"));
}

TEST_F(Doctor, NamesANodeThatCannotBeOpened) {
  file("dev/cambricon_ctl");
  file("dev/cambricon_dev0");
  ASSERT_TRUE(sys::make_directories(path("dev/cambricon_dev1"), 0755));
  EXPECT_THAT(line("devices"),
              HasSubstr("failed: devices: /dev/cambricon_dev1: it cannot be opened"));
}

TEST_F(Doctor, ComparesTheRankTableWithTheDevicesThatAreHere) {
  context_.rank_table =
      R"({"version":"1.0","server_count":"1","status":"completed","server_list":[{"server_id":"s",)"
      R"("device":[{"device_id":"0","device_ip":"10.1.0.1","rank_id":"0"},)"
      R"({"device_id":"5","device_ip":"10.1.0.2","rank_id":"1"}]}]})";
  context_.devices = {0, 5};
  EXPECT_THAT(line("ranktable"), HasSubstr("skipped"));
  file("dev/davinci0");
  EXPECT_THAT(line("ranktable"), AllOf(HasSubstr("failed"), HasSubstr("/dev/davinci5,")));
  file("dev/davinci5");
  EXPECT_THAT(line("ranktable"), HasSubstr("ok: ranktable: template 1"));
  context_.rank_table = "{";
  EXPECT_THAT(line("ranktable"), HasSubstr("failed"));
}

// --- The drivers' tools ---

TEST_F(Doctor, ReadsWhatNvidiaSmiPrints) {
  file("gpus.xml",
       "<?xml version=\"1.0\" ?><nvidia_smi_log><driver_version>535.1</driver_version>"
       "<attached_gpus>1</attached_gpus><gpu id=\"00000000:0A:00.0\"><product_name>H100"
       "</product_name><minor_number>2</minor_number></gpu></nvidia_smi_log>");
  program("nvidia-smi", "[ \"$*\" = '-q -x' ] && cat " + path("gpus.xml"));
  EXPECT_EQ(line("gpu"), "ok: gpu: 1 GPU, H100, driver 535.1");
  file("gpus.xml",
       "<nvidia_smi_log><attached_gpus>2</attached_gpus><gpu id=\"00000000:0A:00.0\">"
       "<minor_number>2</minor_number><ecc_errors><volatile><dram_uncorrectable>3"
       "</dram_uncorrectable></volatile></ecc_errors></gpu></nvidia_smi_log>");
  const auto results = run("gpu");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].place, "GPU 0000:0a:00.0 (/dev/nvidia2)");
  EXPECT_EQ(results[0].verdict, CheckStatus::kFailed);
  EXPECT_THAT(results[0].found, HasSubstr("3 uncorrectable ECC errors"));
  EXPECT_EQ(results[1].verdict, CheckStatus::kWarning);
}

TEST_F(Doctor, WarnsOfAGpuThatIsSlowOrTaken) {
  file("gpus.xml",
       "<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id=\"00000000:0A:00.0\">"
       "<pci><pci_gpu_link_info><link_widths><max_link_width>16x</max_link_width>"
       "<current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>"
       "<clocks_event_reasons><clocks_event_reason_hw_slowdown>Active"
       "</clocks_event_reason_hw_slowdown></clocks_event_reasons>"
       "<fb_memory_usage><total>81920 MiB</total><used>70000 MiB</used></fb_memory_usage>"
       "<ecc_mode><current_ecc>Disabled</current_ecc></ecc_mode>"
       "<fabric><state>In Progress</state></fabric></gpu></nvidia_smi_log>");
  program("nvidia-smi", "cat " + path("gpus.xml"));
  const std::string text = doctor::results_to_text(run("gpu"), false, 0);
  EXPECT_THAT(text, AllOf(HasSubstr("8 of 16 lanes"), HasSubstr("hw_slowdown"),
                          HasSubstr("70000 of 81920 MiB"), HasSubstr("ECC is off"),
                          HasSubstr("NVLink fabric is not up: In Progress")));
  // The job's own, while it runs.
  context_.occasion = doctor::Occasion::kMonitor;
  EXPECT_EQ(doctor::results_to_text(run("gpu"), false, 0).find("70000"), std::string::npos);
}

TEST_F(Doctor, ReadsTheKernelsLogForBrokenGpus) {
  EXPECT_THAT(line("xid"), HasSubstr("skipped"));
  file("dev/kmsg", "6,1,2,-;NVRM: Xid (PCI:0000:0a:00): 13, Graphics Exception\n");
  EXPECT_THAT(line("xid"), HasSubstr("ok"));
  file("dev/kmsg", "6,1,2,-;NVRM: Xid (PCI:0000:0a:00): 79, GPU has fallen off the bus.\n");
  EXPECT_THAT(line("xid"), AllOf(HasSubstr("warning"), HasSubstr("GPU 0000:0a:00"),
                                 HasSubstr("Xid 79"), HasSubstr("fallen off")));
}

TEST_F(Doctor, ReadsThePortsOfRdmaAndTheirMtus) {
  EXPECT_THAT(line("rdma"), HasSubstr("skipped"));
  auto port = [this](const std::string& device, const std::string& state, const std::string& mtu) {
    const std::string at = "sys/class/infiniband/" + device;
    file(at + "/ports/1/state", state + "\n");
    file(at + "/ports/1/phys_state", "3: Disabled\n");
    file(at + "/ports/1/link_layer", "Ethernet\n");
    file(at + "/device/net/" + device + "-if/x");
    file("sys/class/net/" + device + "-if/mtu", mtu + "\n");
  };
  port("mlx5_0", "4: ACTIVE", "9000");
  EXPECT_THAT(line("rdma"), AllOf(HasSubstr("ok"), HasSubstr("mlx5_0 port 1 active")));
  port("mlx5_0", "4: ACTIVE", "1500");
  EXPECT_THAT(line("rdma"), AllOf(HasSubstr("warning"), HasSubstr("the MTU is 1500")));
  port("mlx5_1", "4: ACTIVE", "9000");
  EXPECT_THAT(line("rdma"), AllOf(HasSubstr("the MTUs differ"), HasSubstr("mlx5_0-if has 1500")));
  port("mlx5_0", "1: DOWN", "9000");
  EXPECT_THAT(line("rdma"), HasSubstr("mlx5_0 port 1 (DOWN, Disabled) is not active"));
}

TEST_F(Doctor, GivesUpADriverThatHangs) {
  program("nvidia-smi", "sleep 1000");
  context_.limit_ms = 1000;
  // By the check's time, where a busy machine leaves the tool's no room.
  EXPECT_THAT(line("gpu"),
              AllOf(HasSubstr("failed"), testing::AnyOf(HasSubstr("nvidia-smi has not answered"),
                                                        HasSubstr("no answer within 1 s"))));
}

TEST_F(Doctor, SaysWhatAToolSaysThatFails) {
  program("nvidia-smi",
          "echo 'Unable to determine the device handle for GPU1: GPU is lost.'; exit 15");
  EXPECT_THAT(line("gpu"), AllOf(HasSubstr("failed"), HasSubstr("GPU is lost")));
  program("nvidia-smi", "echo 'No devices were found'; exit 6");
  EXPECT_THAT(line("gpu"), HasSubstr("skipped"));
  program("npu-smi", "echo 'dcmi module initialize failed. ret is -8005'; exit 1");
  EXPECT_THAT(line("npu"), HasSubstr("failed"));
}

constexpr const char* kNpuTable =
    "| NPU   Name      | Health | Power |\n| Chip            | Bus-Id | x     |\n+==+\n"
    "| 0     910B4     | OK     | 85.0  |\n| 0               | 0000:C1:00.0 | 0 |\n+==+\n"
    "| 1     910B4     | Alarm  | 85.0  |\n| 0               | 0000:01:00.0 | 0 |\n+==+\n"
    "| NPU     Chip    | Process id | Process name | memory |\n+==+\n"
    "| 0       0       | 99910      | python       | 27977  |\n+==+\n";

TEST_F(Doctor, NamesAnUnwellChipAndProcessesThatAreLeftOnIt) {
  file("npu.txt", kNpuTable);
  program("npu-smi", "cat " + path("npu.txt"));
  const auto results = run("npu");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(to_line(results[0]).substr(0, 42), "npu: NPU 1 chip 0: its health is Alarm; se");
  EXPECT_EQ(results[0].verdict, CheckStatus::kFailed);
  EXPECT_THAT(results[1].found, HasSubstr("NPU 0 (pid 99910)"));
  EXPECT_EQ(results[1].verdict, CheckStatus::kWarning);
  context_.occasion = doctor::Occasion::kMonitor;  // the job's own
  EXPECT_EQ(run("npu").size(), 1U);
}

// --- Limits ---

TEST_F(Doctor, TakesTheLimitsThatTheJobWillHave) {
  context_.limits = {{RLIMIT_NOFILE, 1024, 4096}, {RLIMIT_MEMLOCK, 65536, 65536}};
  EXPECT_THAT(line("nofile"), AllOf(HasSubstr("warning"), HasSubstr("--rlimit nofile=4096")));
  EXPECT_EQ(line("memlock"), "ok: memlock: 64 KiB; there is no RDMA device that would need more");
  file("dev/infiniband/uverbs0");
  EXPECT_THAT(line("memlock"), AllOf(HasSubstr("failed"), HasSubstr("memlock=-1")));
  file("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
  EXPECT_THAT(line("memlock"), HasSubstr("ok"));
  context_.limits = {{RLIMIT_MEMLOCK, ~0ULL, ~0ULL}};
  EXPECT_EQ(line("memlock"), "ok: memlock: unlimited");
}

TEST_F(Doctor, ComparesTheProcessesThatAreLeftWithTheRanks) {
  context_.limits = {{RLIMIT_NPROC, ~0ULL, ~0ULL}};
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/pids.max", "1024\n");
  file("sys/fs/cgroup/pids.current", "24\n");
  context_.ranks = 2;
  EXPECT_EQ(line("pids"), "ok: pids: pids.max 1024, 1000 left for 2 ranks");
  context_.ranks = 8;
  EXPECT_THAT(line("pids"), HasSubstr("warning"));
  context_.ranks = 64;
  EXPECT_THAT(line("pids"), HasSubstr("failed"));
  context_.occasion = doctor::Occasion::kMonitor;
  EXPECT_THAT(line("pids"), HasSubstr("warning"));
  file("sys/fs/cgroup/pids.max", "max\n");
  EXPECT_EQ(line("pids"), "ok: pids: unlimited");
}

TEST_F(Doctor, WarnsWhereAnOomKillTakesAllOfTheContainer) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", "68719476736\n");
  file("sys/fs/cgroup/memory.current", "1073741824\n");
  file("sys/fs/cgroup/memory.swap.max", "0\n");
  file("sys/fs/cgroup/memory.oom.group", "0\n");
  EXPECT_EQ(line("memory"), "ok: memory: 64 GiB for the container, 1 GiB used, no swap");
  file("sys/fs/cgroup/memory.oom.group", "1\n");
  const auto results = run("memory");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].place, "memory.oom.group");
  EXPECT_THAT(results[1].fix, HasSubstr("singleProcessOOMKill"));
  file("sys/fs/cgroup/memory.oom.group", "0\n");
  file("sys/fs/cgroup/memory.current", "67000000000\n");
  EXPECT_THAT(line("memory"), HasSubstr("warning"));
}

TEST_F(Doctor, ReadsTheCpuQuotaOfVersionTwo) {
  file("proc/self/cgroup", "0::/\n");
  context_.ranks = 2;
  file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_THAT(line("cpu"), AllOf(HasSubstr("warning"), HasSubstr("a quota of 0.5 for 2 ranks")));
  file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_THAT(line("cpu"), Not(HasSubstr("quota")));
}

TEST_F(Doctor, ReadsVersionOneOfTheCgroupsToo) {
  file("proc/self/cgroup", "9:memory:/docker/y\n8:cpu,cpuacct:/docker/y\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "8589934592\n");
  file("sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(line("memory"), "ok: memory: 8 GiB for the container, 1 MiB used");
  context_.ranks = 16;
  EXPECT_THAT(line("memory"), HasSubstr("less than 1 GiB for each of 16 ranks"));
  context_.ranks = 2;
  EXPECT_THAT(line("cpu"), AllOf(HasSubstr("warning"), HasSubstr("a quota of 0.5 for 2 ranks")));
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("proc/meminfo", "MemTotal:       1073741824 kB\nMemAvailable:   1000000000 kB\n");
  EXPECT_THAT(line("memory"), HasSubstr("ok: memory: 1 TiB of the machine, 70 GiB used"));
}

// --- Storage ---

TEST_F(Doctor, WantsDataSetsReadOnly) {
  context_.root = path("");
  file("proc/self/mountinfo",
       "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
       "36 22 0:30 / /data/my\\040set ro,relatime master:1 - nfs srv:/x rw,vers=4\n"
       "37 22 0:31 / /dataset rw,relatime - nfs srv:/y ro,vers=4\n"
       "38 22 0:32 / /mnt/data/w rw,relatime - nfs srv:/z rw,vers=4\n"
       "39 22 0:33 / /database rw,relatime - nfs srv:/q rw,vers=4\n");
  for (const char* name : {"data/my set", "dataset", "mnt/data/w", "image"}) {
    ASSERT_TRUE(sys::make_directories(path(name), 0755));
  }
  const auto results = run("datasets");
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(to_line(results[0]), "datasets: /data/my set: read-only");
  EXPECT_EQ(results[1].verdict, CheckStatus::kOk);
  EXPECT_EQ(results[2].verdict, CheckStatus::kWarning);
  EXPECT_THAT(results[2].fix, HasSubstr("readOnly: true"));
  context_.datasets = {"/absent", "/image"};
  const auto named = run("datasets");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].verdict, CheckStatus::kFailed);
  EXPECT_THAT(named[1].found, HasSubstr("part of the image"));
}

TEST_F(Doctor, LooksAtTheDirectoryInWhichAnotherWouldBeMade) {
  context_.work_dir = path("not/yet/made");
  context_.log_dir = "/proc/self";
  context_.run_dir = path("run");
  EXPECT_EQ(run("disk").size(), 4U);  // and /tmp
  context_.run_dir = "";
  const auto results = run("disk");
  ASSERT_EQ(results.size(), 4U);
  EXPECT_THAT(results[3].found, HasSubstr("no directory for trainit's state"));
  EXPECT_NE(results[0].verdict, CheckStatus::kFailed) << to_line(results[0]);
  EXPECT_EQ(results[1].verdict, CheckStatus::kFailed);
}

// --- Network ---

TEST(Interfaces, AreNamedByTheRulesOfEachLibrary) {
  const std::vector<std::string> have = {"eth0", "eth10", "ib0", "lo"};
  auto chosen = [&have](std::string_view list, bool exact) {
    return doctor::named_interfaces(list, exact, have).chosen;
  };
  EXPECT_THAT(chosen("eth", false), ElementsAre("eth0", "eth10"));
  EXPECT_THAT(chosen("=eth0,ib0", false), ElementsAre("eth0", "ib0"));
  EXPECT_THAT(chosen("=eth", false), IsEmpty());
  EXPECT_THAT(chosen("^lo,eth1", false), ElementsAre("eth0", "ib0"));
  EXPECT_THAT(chosen("eth", true), IsEmpty());
  EXPECT_THAT(chosen("eth0", true), ElementsAre("eth0"));
  EXPECT_THAT(doctor::named_interfaces("eth0,bond0", false, have).missing, ElementsAre("bond0"));
}

TEST_F(Doctor, ChecksTheInterfacesThatVariablesName) {
  file("sys/class/net/lo/operstate", "unknown\n");
  file("sys/class/net/eth0/operstate", "up\n");
  file("sys/class/net/eth1/operstate", "down\n");
  EXPECT_EQ(line("network"), "ok: network: eth0 up");
  set("NCCL_SOCKET_IFNAME", "bond");
  EXPECT_THAT(line("network"), AllOf(HasSubstr("failed"), HasSubstr("bond names no interface"),
                                     HasSubstr("eth0, eth1, lo")));
  set("NCCL_SOCKET_IFNAME", "=eth1");
  EXPECT_THAT(line("network"), HasSubstr("eth1 is down"));
}

TEST_F(Doctor, ResolvesAndReachesTheOtherNodes) {
  file("etc/hosts", "127.0.0.1 here\n127.0.0.1 also-here\n");
  program("getent", "exit 2");
  context_.other_nodes = {{.host = "here", .port = 1}, {.host = "also-here", .port = 1}};
  EXPECT_EQ(line("hosts"), "ok: hosts: 2 of 2 nodes are known");
  EXPECT_EQ(line("peers"), "ok: peers: 2 of 2 nodes answer");  // by a refusal
  context_.other_nodes.push_back({.host = "nowhere", .port = 1});
  EXPECT_THAT(line("hosts"), AllOf(HasSubstr("failed: hosts: 1 of 3 nodes are not known: nowhere"),
                                   HasSubstr("headless service")));
  EXPECT_THAT(line("peers"), HasSubstr("failed: peers: 1 of 3 nodes do not answer: nowhere"));
  context_.start.set("PATH", path("none"));  // no getent
  context_.other_nodes = {{.host = "nowhere", .port = 1}};
  EXPECT_THAT(line("hosts"), AllOf(HasSubstr("skipped"), HasSubstr("getent")));
  EXPECT_THAT(line("peers"), HasSubstr("skipped"));
  context_.start.set("PATH", path("bin") + ":/usr/bin:/bin");
  context_.occasion = doctor::Occasion::kPreflight;
  EXPECT_THAT(line("hosts"), HasSubstr("warning"));
  EXPECT_THAT(line("peers"), HasSubstr("skipped"));
}

// --- A plan ---

TEST(DoctorContext, KnowsTheOtherNodesFromAClusterOrFromWhatHooksAreTold) {
  envgen::Plan plan;
  plan.processes.resize(2);
  plan.processes[0].device = 4;
  plan.processes[0].cwd = "/work";
  plan.processes[1].log = "/logs/rank-1.log";
  plan.hook_env = {{base::EnvEdit::Kind::kSet, "TRAINIT_NODE_RANK", "1"},
                   {base::EnvEdit::Kind::kSet, "TRAINIT_MASTER_PORT", "2222"},
                   {base::EnvEdit::Kind::kSet, "TRAINIT_HOSTS", "a,b,c"}};
  Context context = doctor::context_of(plan, {});
  EXPECT_EQ(context.ranks, 2);
  EXPECT_EQ(context.work_dir, "/work");
  EXPECT_EQ(context.log_dir, "/logs");
  EXPECT_THAT(context.devices, ElementsAre(4));
  EXPECT_THAT(context.other_nodes, ElementsAre(AllOf(Field(&doctor::OtherNode::host, "a"),
                                                     Field(&doctor::OtherNode::port, 2222)),
                                               Field(&doctor::OtherNode::host, "c")));
  plan.cluster.emplace();
  plan.cluster->nodes.resize(2);
  plan.cluster->nodes[0].host = "x";
  plan.cluster->nodes[0].port = 7;
  plan.cluster->nodes[1].host = "y";
  plan.cluster->nodes[1].slots = 8;
  plan.local_node = {.node_rank = 1, .reason = ""};
  context = doctor::context_of(plan, {});
  EXPECT_THAT(context.other_nodes, ElementsAre(AllOf(Field(&doctor::OtherNode::host, "x"),
                                                     Field(&doctor::OtherNode::port, 7))));
}

TEST_F(Doctor, SaysWhyThereIsNoPlan) {
  context_.plan_fault = "reading the rank table: /x: found nothing";
  EXPECT_THAT(line("plan"), AllOf(HasSubstr("failed"), HasSubstr("/x")));
  context_.plan_fault = "";
  context_.pending = "/x: status is \"initializing\"";
  EXPECT_THAT(line("plan"), HasSubstr("warning"));
}

}  // namespace
