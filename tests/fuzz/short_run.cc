// Runs all fuzzers without libFuzzer, one test each: a fixed number of mutations of the seeds, from
// a fixed random seed. A failure means that a parser broke; only libFuzzer (make fuzz) searches for
// new inputs. If TRAINIT_SAMPLES is set, its files are seeds as well.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzzer.h"

namespace {

constexpr int kRuns = 10'000;
constexpr std::size_t kMaxSeedBytes = 2048;

std::vector<std::string> seeds() {
  // NOLINTBEGIN(bugprone-suspicious-missing-comma): texts of several lines
  std::vector<std::string> list = {
      "",
      R"({"cluster":{"worker":["a:1","b:1"],"ps":{"0":"c:1"}},"task":{"type":"worker","index":"0"}})",
      "a slots=4\nb slots=4 max_slots=8\n",
      "a:4\nb:4\n",
      "n[1-3,07],x[01-10]y[1-2],login",
      "2(x3),1",
      "[a:1,b:2],[fd00::1]:22",
      R"(<system version="1"><cpu numaid="0" affinity="000000ff,ffff0000"><pci busid="0000:10:1c.0")"
      R"( class="0x030200"/></cpu></system>)",
      "\t   NPU0       NPU1       CPU Affinity\nNPU0       X          HCCS       144-167\n"
      "NPU1       HCCS       X          0-23\n\nLegend:\n",
      "address_0=10.0.0.1\nIPv6address_1=fd00::1\n",
      "--platform\nvk\n--slots=2\n--\npython\ntrain.py",
      "-n\ntrain\n--cwd=/data\n--\npython\n-um\npkg",
      "envs_dirs: [/a, \"/b\"]  # c\nenvs_path:\n  - '/d'\n",
      "KEY=VALUE\npython\n-c\nprint('a')\n&&\nb",
      "export A=$B; python3 train.py",
      "  VK_TASK_INDEX=1\nWORKER_HOST=a,b\nSLOTS=2\nPS_HOST=c",
      "\n\nPET_NNODES=2\nPET_NODE_RANK=1\nPET_NPROC_PER_NODE=2\nPET_MASTER_ADDR=a",
      R"({"env_vars":{"A":"1","B":"***unset***"}})",
      R"({"status":"completed","version":"1.0","server_count":"1","server_list":[{"server_id":"a",)"
      R"("device":[{"device_id":"0","device_ip":"10.0.0.1","rank_id":"0"}]}]})",
      R"({"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1,"archMap":[{"architecture":)"
      R"("SCMP_ARCH_X86_64","subArchitectures":["SCMP_ARCH_X86"]}],"syscalls":[{"names":["execve",)"
      R"("exit_group"],"action":"SCMP_ACT_ALLOW"},{"names":["mount"],"action":"SCMP_ACT_LOG",)"
      R"("includes":{"caps":["CAP_SYS_ADMIN"],"minKernel":"4.8"}},{"names":["socket"],"action":)"
      R"("SCMP_ACT_ALLOW","args":[{"index":0,"value":40,"op":"SCMP_CMP_NE"}],"excludes":)"
      R"({"arches":["arm64"]}}]})",
      R"({"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_AARCH64"],"syscalls":)"
      R"([{"name":"clone3","action":"SCMP_ACT_ERRNO","errnoRet":13}]})",
      "ma-user:users\nroot:x:0:0:root:/root:/bin/sh\nma-user:x:1000:100::/home/ma-user:/bin/sh\n"
      "users:x:100:ma-user,root\n",
      "1000\n+nis:::\na:x:1000:5:A:/a:/bin/sh\nvideo:x:44:a\n",
      "<?xml version=\"1.0\"?><!DOCTYPE nvidia_smi_log SYSTEM \"x.dtd\"><nvidia_smi_log>"
      "<attached_gpus>1</attached_gpus><gpu id=\"00000000:0A:00.0\"><minor_number>0</minor_number>"
      "<ecc_errors><volatile><dram_uncorrectable>1</dram_uncorrectable></volatile></ecc_errors>"
      "</gpu></nvidia_smi_log>",
      "| NPU Name | Health | P |\n| Chip Phy-ID | Bus-Id | x |\n| 0 910 | OK | 1 |\n"
      "| 0 1 | 0000:9D:00.0 | 0 |\n| NPU Chip | Process id | n | m |\n| 0 0 | 12 | py | 3 |\n",
      "A=1\nB<<END\nx=y\n\nEND\n# c\nC=<<D\nD=\"2\"",
      "/data/a\n/lake/y=1=/fast/y\n/data/a=/fast/a",
      "a/**/b?*\na/x/by",
      R"({"format":1,"source":"/a%FF","identity":"","version":"1","options":"","path":"/b","entries":1,)"
      R"("bytes":1,"allocated":1,"finished_ms":1,"boot_id":"x","synced":true,"hashed":false})",
      "Process name: [[1,1],1]\nFailures:\n====\nExit code: 3\n",
      "x noticed that process rank 1 with PID 0 on node vm exited on\nFailures:\n====\nsignal 11\n",
      "=   RANK 1 PID 7 RUNNING AT vm\nFailures:\n====\n=   EXIT CODE: 3\n"
      "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n",
      "Failures:\n  rank      : 2147483647 (local_rank: 1)\n  exitcode  : -2147483648 (pid: 1)\n",
      std::string("CTL1\2\0\0\0\0\1\0\0\0\0\0\0", 16),
      std::string("CTL1\3\0\0\0\1\0\0\0\0\0\0\0", 16),
      std::string("CTL1\4\0\0\0\0\0\0\0\0\0\0\x7f", 16),
      std::string("CTL1\1\0\0\0\0\0\0\0\0\0\0\0", 16),
  };
  // NOLINTEND(bugprone-suspicious-missing-comma)
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) return list;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    list.push_back(text.substr(0, kMaxSeedBytes));
  }
  return list;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string text = any();
    for (std::size_t i = below(6); i > 0; --i) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& any() { return seeds_[below(seeds_.size())]; }

  void mutate(std::string& text) {
    static const std::vector<std::string> tokens = {"\"",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    ":",
                                                    "=",
                                                    "-",
                                                    "\n",
                                                    " ",
                                                    "0",
                                                    "1",
                                                    "-1",
                                                    "65536",
                                                    "(x",
                                                    ")",
                                                    "#",
                                                    "//",
                                                    "^",
                                                    "+n0",
                                                    "slots=",
                                                    "null",
                                                    "true",
                                                    "99999999999999999999",
                                                    "\\u0000",
                                                    std::string(1, '\0'),
                                                    "\xff",
                                                    "::",
                                                    "\r\n"};
    std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, tokens[below(tokens.size())]);
        return;
      case 1:
        text.erase(at, below(8) + 1);
        return;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      case 3:
        text.insert(at, any().substr(0, 64));
        return;
      default:
        text.resize(at);
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{20261120};
};

struct Fuzzer {
  const char* name;
  fuzz::Input input;
};

// Not a constant of namespace scope: other files add to it before main().
std::vector<Fuzzer>& fuzzers() {
  static std::vector<Fuzzer> list;
  return list;
}

class ShortRun : public testing::Test {
 public:
  explicit ShortRun(fuzz::Input input) : input_(input) {}
  void TestBody() override {
    static const std::vector<std::string> all_seeds = seeds();
    Mutator mutator(all_seeds);
    for (int run = 0; run < kRuns; ++run) {
      const std::string text = mutator.next();
      // What breaks is the last input: a debugger shows it.
      input_(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
  }

 private:
  fuzz::Input input_;
};

}  // namespace

bool fuzz::add_fuzzer(const char* name, Input input) {
  fuzzers().push_back({name, input});
  return true;
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const Fuzzer& fuzzer : fuzzers()) {
    testing::RegisterTest("ShortRun", fuzzer.name, nullptr, nullptr, __FILE__, __LINE__,
                          [input = fuzzer.input] { return new ShortRun(input); });
  }
  return RUN_ALL_TESTS();
}
