// Real failure logs (TRAINIT_SAMPLES), printed by one rank among healthy ones below a launcher that
// was typed: the same line is the cause as where a single process prints them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "envgen/failure/find_cause.h"
#include "envgen/failure/printed_line.h"
#include "tests/envgen/failure/torchrun_table.h"

namespace envgen {
namespace {

using Launched = std::function<std::string(std::string_view log)>;

std::string each_line(std::string_view text, const std::string& prefix) {
  std::string all;
  while (!text.empty()) all += prefix + std::string(base::take_line(text)) + "\n";
  return all;
}

std::string healthy(const std::string& prefix, int step) {
  return each_line("step " + std::to_string(step) + " loss 2.5\n", prefix);
}

// `before(rank)` stands before each line of a rank.
std::string three_ranks(std::string_view log, const std::function<std::string(int rank)>& before) {
  std::string all;
  for (int rank = 0; rank < 3; ++rank) all += healthy(before(rank), 1);
  all += each_line(log, before(1));
  return all;
}

// torchrun of 2.x as it ends: the closing signals, its own traceback, its table.
std::string torchrun_end() {
  const std::string api = "torch/distributed/elastic/multiprocessing/api.py";
  const std::string package = "/opt/conda/lib/python3.11/site-packages/torch/distributed/";
  return "W1127 22:00:01.000000 71 " + api +
         ":897] Sending process 72 closing signal SIGTERM\n"
         "W1127 22:00:01.000000 71 " +
         api +
         ":897] Sending process 74 closing signal SIGTERM\n"
         "E1127 22:00:02.000000 71 " +
         api +
         ":869] failed (exitcode: 1) local_rank: 1 (pid: 73) of binary: /opt/conda/bin/python\n"
         "Traceback (most recent call last):\n"
         "  File \"/opt/conda/bin/torchrun\", line 8, in <module>\n"
         "    sys.exit(main())\n"
         "             ^^^^^^\n"
         "  File \"" +
         package +
         "elastic/multiprocessing/errors/__init__.py\", line 355, in wrapper\n"
         "    return f(*args, **kwargs)\n"
         "  File \"" +
         package +
         "run.py\", line 918, in main\n"
         "    run(args)\n"
         "  File \"" +
         package +
         "launcher/api.py\", line 269, in launch_agent\n"
         "    raise ChildFailedError(\n"
         "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
         torchrun::table("train.py", "node-a", {}, {.rank = 1, .local_rank = 1, .pid = 73});
}

std::string torchrun_tee(std::string_view log) {
  return three_ranks(log, [](int rank) { return "[default" + std::to_string(rank) + "]:"; }) +
         torchrun_end();
}

// What PyTorch's own hook puts before an uncaught exception, behind the launcher's mark.
std::string torchrun_tee_and_ranks(std::string_view log) {
  return three_ranks(log,
                     [](int rank) {
                       const std::string number = std::to_string(rank);
                       return "[default" + number + "]:[rank" + number + "]: ";
                     }) +
         torchrun_end();
}

// Rank 0 loses its connection to the culprit, and is quicker.
std::string torchrun_victim_first(std::string_view log) {
  return each_line(
             "Traceback (most recent call last):\n"
             "  File \"train.py\", line 9, in <module>\n"
             "    dist.all_reduce(loss)\n"
             "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed "
             "by peer [10.0.0.2]:4321\n",
             "[default0]:[rank0]: ") +
         torchrun_tee(log);
}

std::string torchrun_plain(std::string_view log) {
  return three_ranks(log, [](int /*rank*/) { return std::string(); }) + torchrun_end();
}

std::string mpirun_tagged(std::string_view log) {
  const std::string thin = std::string(74, '-') + "\n";
  return three_ranks(log, [](int rank) { return "[1," + std::to_string(rank) + "]<stderr>:"; }) +
         thin +
         "Primary job  terminated normally, but 1 process returned\n"
         "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
         thin + thin +
         "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
         "the job to be terminated. The first process to do so was:\n\n"
         "  Process name: [[11049,1],1]\n  Exit code:    1\n" +
         thin;
}

std::string mpich_ranks(std::string_view log) {
  const std::string thick = std::string(83, '=') + "\n";
  return three_ranks(log, [](int rank) { return "[" + std::to_string(rank) + "] "; }) + "\n" +
         thick +
         "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
         "=   PID 4242 RUNNING AT node-1\n=   EXIT CODE: 1\n"
         "=   CLEANING UP REMAINING PROCESSES\n"
         "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" +
         thick;
}

// A long line is cut, and its rank counts there.
std::string shown(const std::optional<FoundCause>& cause) {
  constexpr std::size_t kComparedBytes = 300;
  return cause ? std::string(base::trimmed(without_rank(cause->line)).substr(0, kComparedBytes))
               : "-";
}

class LaunchedSamples : public testing::Test {
 protected:
  void SetUp() override {
    const char* samples = std::getenv("TRAINIT_SAMPLES");
    if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
    for (const char* folder : {"failures", "failures-2"}) {
      for (const auto& entry :
           std::filesystem::directory_iterator(std::filesystem::path(samples) / folder)) {
        const std::string name = entry.path().filename();
        if (!name.ends_with(".log") || name.contains("healthy")) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        logs_.emplace_back(name, std::string(std::istreambuf_iterator<char>(file), {}));
      }
    }
    ASSERT_GT(logs_.size(), 100U);
  }

  void expect_same(const Launched& launched, bool roots_only = false) {
    std::size_t failed = 0;
    std::size_t same = 0;
    std::string others;
    for (const auto& [name, log] : logs_) {
      const auto single = find_cause(log, catalog_);
      if (!single || std::ranges::find(kOthers, name) != kOthers.end()) continue;
      // A launcher's own words say more than a warning.
      const LogLevel level = log_level(printed_line(single->line));
      if (level == LogLevel::kInfo || level == LogLevel::kWarning) continue;
      if (roots_only && !single->certain) continue;
      ++failed;
      const auto cause = find_cause(launched(log), catalog_);
      if (shown(cause) == shown(single)) {
        ++same;
      } else {
        others += "\n" + name + "\n  " + shown(single) + "\n  " + shown(cause);
      }
    }
    EXPECT_GE(same + (roots_only ? kTorn : 0), failed) << others;
  }

  // An excerpt that begins with the end of its traceback, which counts for more where it is the
  // first line of all.
  static constexpr std::size_t kTorn = 1;
  // The launcher's words beat an error that no row knows, and a time-out a reset connection.
  static constexpr std::array kOthers = {"f14-rendezvous-pytorch-128970.log",
                                         "f42-mindspore-MindAct-1983-zh.log"};

  std::vector<std::pair<std::string, std::string>> logs_;
  FailureCatalog catalog_ = FailureCatalog::shipped();
};

TEST_F(LaunchedSamples, ShowTheSameLineBelowTorchrun) { expect_same(torchrun_plain); }
TEST_F(LaunchedSamples, ShowTheSameLineBelowTorchrunThatTees) { expect_same(torchrun_tee); }
TEST_F(LaunchedSamples, ShowTheSameLineBelowTorchrunThatTeesRanks) {
  expect_same(torchrun_tee_and_ranks);
}
TEST_F(LaunchedSamples, ShowTheSameLineBesideAVictimThatWasQuicker) {
  expect_same(torchrun_victim_first, true);
}
TEST_F(LaunchedSamples, ShowTheSameLineBelowMpirun) { expect_same(mpirun_tagged); }
TEST_F(LaunchedSamples, ShowTheSameLineBelowMpich) { expect_same(mpich_ranks); }

}  // namespace
}  // namespace envgen
