// The start of a machine's ranks against a plain loop of fork and exec.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tests/bench/server_table.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr std::array kRanks{8, 64};

// From before the starter's fork to the main() of the last of its ranks, each of which writes its
// time into the FIFO.
double time_start(const Words& starter, int fifo, int ranks, const std::string& said) {
  const std::int64_t begin = now_ns();
  const pid_t child = start_saying(starter, said);
  std::int64_t last = 0;
  // Their times fit into the FIFO, and all of them are there when the starter has ended.
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail(starter[0] + " did not end well; it said: " + read_text(said));
  for (int rank = 0; rank < ranks; ++rank) {
    std::int64_t stamp = 0;
    if (read(fifo, &stamp, sizeof stamp) != sizeof stamp) fail("a rank left no time");
    last = std::max(last, stamp);
  }
  return static_cast<double>(last - begin) / 1e6;
}

struct Started {
  double ours_ms = 0;
  double floor_ms = 0;
  double loop_ms = 0;
};

// Into which ranks write their times. Read and write: the read end never sees an end of file
// between two ranks.
int open_stamps(const std::string& folder) {
  const std::string fifo_path = folder + "/stamps";
  setenv("PAYLOAD_STAMP", fifo_path.c_str(), 1);
  unlink(fifo_path.c_str());
  const int fifo = mkfifo(fifo_path.c_str(), 0600) == 0
                       ? open(fifo_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)
                       : -1;
  if (fifo < 0) fail(fifo_path);
  return fifo;
}

// As a container's are: nothing of an earlier start is there.
void take_fresh_directories(const std::string& folder) {
  static int starts = 0;
  const std::string start = std::to_string(++starts);
  setenv("TRAINIT_RUN_DIR", (folder + "/run-" + start).c_str(), 1);
  setenv("TRAINIT_LOG_DIR", (folder + "/logs-" + start).c_str(), 1);
}

// In ms, of each, by turns in a random order.
template <std::size_t kCount>
std::array<std::vector<double>, kCount> time_in_turn(const Field& field,
                                                     const std::array<Words, kCount>& starters,
                                                     int ranks, int rounds) {
  const std::string said = field.folder + "/said";
  const int fifo = open_stamps(field.folder);
  std::array<std::vector<double>, kCount> ms;
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t i : shuffled(ms.size())) {
      take_fresh_directories(field.folder);
      ms[i].push_back(time_start(starters[i], fifo, ranks, said));
    }
  }
  close(fifo);
  return ms;
}

Started start_ranks(const Field& field, const std::string& payload, int ranks) {
  constexpr int kRounds = 21;
  const std::string table = field.folder + "/server.json";
  write_server_table(table, ranks);
  const Words ours = {field.trainit,
                      "--platform=bare",
                      "--framework=ascend",
                      "--rank-table=" + table,
                      "--",
                      payload,
                      "stamp"};
  const Words loop = {field.self, "--program", "fork-exec", std::to_string(ranks),
                      payload,    "stamp"};
  const Words floor = {field.self, "--program", "ranks-floor", std::to_string(ranks),
                       table,      payload,     "stamp"};
  const auto [our_ms, floor_ms, loop_ms] =
      time_in_turn(field, std::array{ours, floor, loop}, ranks, kRounds);
  return {median(our_ms), median(floor_ms), median(loop_ms)};
}

// torchrun imports torch first: its few rounds take seconds.
void beside_torchrun(const Field& field, const std::string& payload) {
  constexpr int kRounds = 10;
  constexpr int kTorchRanks = 8;
  const std::string said = field.folder + "/said";
  puts("### 8 ranks of PyTorch, beside the torchrun of this machine\n");
  const pid_t version = start_saying({"torchrun", "--help"}, said);
  if (finish(version) != 0) {
    puts("not measured: no torchrun that runs\n");
    return;
  }
  const std::string ranks = std::to_string(kTorchRanks);
  const Words ours = {field.trainit, "--fan-out", "--slots", ranks, "--", payload, "stamp"};
  // Into files, as ours; PyTorch 1.13 below Python 3.11 starts none that are not redirected.
  const Words theirs = {"torchrun",      "--standalone", "--nproc_per_node=" + ranks,
                        "--redirects=1", "--tee=1",      "--log_dir=" + field.folder + "/torchrun",
                        "--no_python",   payload,        "stamp"};
  const auto [our_ms, their_ms] =
      time_in_turn(field, std::array{ours, theirs}, kTorchRanks, kRounds);
  Table table({"starter", "median ms", "x torchrun"});
  table.add({"trainit --fan-out", text("%.1f", median(our_ms)), with_spread(our_ms, their_ms)});
  table.add({"torchrun", text("%.1f", median(their_ms)), "1"});
  table.print();
}

}  // namespace

void fan_out(const Field& field, const std::string& payload) {
  puts(
      "## Fan-out: from the exec of the starter to the main() of the last rank; trainit also "
      "makes");
  puts("the rank table, the directories and the logs; medians of interleaved runs.");
  puts("The floor is a loop that makes what is needed of it: tests/bench/programs/job_floors.h.\n");
  Table table({"ranks", "trainit ms", "floor ms", "fork+exec loop ms", "x loop", "x floor"});
  const auto add = [&table](const std::string& ranks, const Started& ms) {
    table.add({ranks, text("%.2f", ms.ours_ms), text("%.2f", ms.floor_ms), text("%.2f", ms.loop_ms),
               text("%.2f", ms.ours_ms / ms.loop_ms), text("%.2f", ms.ours_ms / ms.floor_ms)});
  };
  std::vector<Started> started;
  for (const int ranks : kRanks) {
    started.push_back(start_ranks(field, payload, ranks));
    add(text("%d", ranks), started.back());
  }
  const double more = kRanks[1] - kRanks[0];
  add("one more", {.ours_ms = (started[1].ours_ms - started[0].ours_ms) / more,
                   .floor_ms = (started[1].floor_ms - started[0].floor_ms) / more,
                   .loop_ms = (started[1].loop_ms - started[0].loop_ms) / more});
  table.print();
  beside_torchrun(field, payload);
}

}  // namespace bench
