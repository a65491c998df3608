// --bind, as the kernel shows it in the ranks.

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "envgen/formats/cpu_list.h"
#include "init/sys/facts.h"
#include "tests/rules/job.h"

namespace {

using envgen::CpuList;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Binding : public rules::EitherWay {
 protected:
  void SetUp() override {
    usable_ = envgen::parse_cpu_list(sys::gather_facts().cpu_list).value_or(CpuList());
    if (usable_.size() < 2) GTEST_SKIP() << "one CPU";
  }

  // A GPU near each of these CPUs.
  void write_topology(int first, int second) const {
    std::string text = "<system version=\"1\">";
    for (const int cpu : {first, second}) {
      std::string mask = "00000001";
      mask.back() = "1248"[cpu % 4];
      std::swap(mask.back(), mask[7 - static_cast<std::size_t>(cpu % 32 / 4)]);
      for (int word = 0; word < cpu / 32; ++word) mask += ",00000000";
      const std::string node = cpu == first ? "0" : "1";
      text += "<cpu numaid=\"" + node + "\" affinity=\"" + mask + "\"><pci busid=\"0000:1" + node +
              ":00.0\" class=\"0x030200\"/></cpu>";
    }
    write("topo.xml", text + "</system>");
  }

  [[nodiscard]] Spec job(const std::string& bind) const {
    Spec one =
        spec({"--fan-out", "--slots", "2", "--output", "files", "--bind", bind, "--", "/bin/sh",
              "-c", "grep Cpus_allowed_list /proc/self/status; echo threads $OMP_NUM_THREADS"});
    one.env.push_back("NCCL_TOPO_FILE=" + path("topo.xml"));
    return one;
  }

  static std::string on_cpus(const CpuList& cpus) {
    return "Cpus_allowed_list:\t" + envgen::cpu_list_text(cpus) + "\n";
  }

  CpuList usable_;
};
RULES_EITHER_WAY(Binding);

TEST_P(Binding, GivesEachRankTheCpusNearItsDevice) {
  write_topology(usable_[1], usable_[0]);
  for (const char* bind : {"numa", "core"}) {
    const Result result = rules::run(job(bind));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(log_of(0), on_cpus({usable_[1]}) + "threads 1\n") << result.err;
    EXPECT_EQ(log_of(1), on_cpus({usable_[0]}) + "threads 1\n") << result.err;
    for (const char* rank : {"0", "1"})
      std::filesystem::remove(path("run/logs/rank-" + std::string(rank) + ".log"));
  }
}

TEST_P(Binding, NoneLeavesThemAsTheyAre) {
  write_topology(usable_[0], usable_[1]);
  EXPECT_EQ(rules::run(job("none")).code, 0);
  EXPECT_THAT(log_of(0), HasSubstr(on_cpus(usable_)));
}

TEST_P(Binding, StaysWithinTheCallersCpus) {
  write_topology(usable_[0], usable_[1]);
  Spec one = job("numa");
  one.before = [cpu = usable_[1]] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ::sched_setaffinity(0, sizeof set, &set);
  };
  const Result result = rules::run(one);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("rank-0 stays unbound: NUMA node 0 of GPU 0000:10:00.0"));
  EXPECT_THAT(log_of(1), HasSubstr(on_cpus({usable_[1]})));
}

// As a seccomp profile may.
TEST_P(Binding, ThatTheKernelRefusesCostsTheBindingAlone) {
  write_topology(usable_[0], usable_[1]);
  Spec one = job("numa");
  one.before = [] { rules::refuse_calls({SYS_sched_setaffinity}, EPERM); };
  const Result result = rules::run(one);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("Operation not permitted (EPERM); it runs unbound"));
  EXPECT_THAT(log_of(0), HasSubstr(on_cpus(usable_)));
}

TEST_P(Binding, ThatCannotBeBelievedIsAWarning) {
  write("topo.xml", R"(<system version="1"><cpu numaid="0" affinity="0-15"/></system>)");
  const Result result = rules::run(job("numa"));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("--bind numa binds nothing: reading the NCCL topology"));
  EXPECT_THAT(log_of(1), HasSubstr(on_cpus(usable_)));
}

// npu-smi may hang in its driver; what it starts goes with it.
TEST_P(Binding, OfAnNpuIsAskedOfNpuSmi) {
  const std::string cpu = std::to_string(usable_[1]);
  write("npu-smi",
        "#!/bin/sh\n[ \"$*\" = 'info -t topo' ] || exit 1\n"
        "printf '\\tNPU0  NPU1  CPU Affinity\\nNPU0  X  HCCS  " +
            cpu + "\\nNPU1  HCCS  X  " + cpu + "\\n\\nLegend:\\n'\n",
        0755);
  Spec one = spec(ranks(2, rules::shell("grep Cpus_allowed_list /proc/self/status"),
                        {"--bind", "numa", "--output", "files"}));
  std::erase_if(one.env, [](const std::string& entry) { return entry.starts_with("PATH="); });
  one.env.push_back("PATH=" + path("") + ":/usr/bin:/bin");
  const Result result = rules::run(one);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(log_of(0), on_cpus({usable_[1]}));
  EXPECT_EQ(log_of(1), on_cpus({usable_[1]}));
}

}  // namespace
