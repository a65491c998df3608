// What the tee costs: its throughput against tee(1) and cat, and the CPU time of PID 1, which never
// touches a byte of it.

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tests/bench/proc_files.h"
#include "tests/bench/server_table.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 5;
constexpr std::int64_t kBytes = 1LL << 30;
constexpr int kRanks = 8;
constexpr std::int64_t kRankBytesPerSecond = 100'000'000 / kRanks;
constexpr int kWindowSeconds = 5;

struct Way {
  std::string name;
  std::string pipeline;
  std::vector<double> megabytes_per_second = {};
  std::vector<double> ratios = {};  // to tee(1) in the same round
};

void measure_throughput(const Field& field) {
  const std::string print = field.self + " --program print " + std::to_string(kBytes);
  const std::string file = field.folder + "/tee.log";
  const std::string trainit = "TRAINIT_RUN_DIR=" + field.folder +
                              "/run TRAINIT_LOG_DIR=" + field.folder + "/tee-logs " +
                              field.trainit + " ";
  std::vector<Way> ways = {
      {"print | tee FILE", print + " | tee " + file + " | cat > /dev/null"},
      {"print | cat", print + " | cat | cat > /dev/null"},
      {"print | floor: tee(2), read, write",
       print + " | " + field.self + " --program tee-floor " + file + " | cat > /dev/null"},
      {"trainit --output tee -- print",
       trainit + "--output tee -- " + print + " | cat > /dev/null"},
      {"the same with a prefix",
       trainit + "--output tee --log-prefix 1 -- " + print + " | cat > /dev/null"},
      {"trainit -- print", trainit + "-- " + print + " | cat > /dev/null"}};
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t index : shuffled(ways.size())) {
      Way& way = ways[index];
      const Run run = measure({"/bin/sh", "-c", way.pipeline}, field.folder + "/said");
      way.megabytes_per_second.push_back(static_cast<double>(kBytes) / 1e3 / run.wall_ms);
      unlink(file.c_str());
      measure({"/bin/rm", "-rf", field.folder + "/tee-logs"}, "/dev/null");
    }
    const double reference = ways[0].megabytes_per_second.back();
    for (Way& way : ways) way.ratios.push_back(way.megabytes_per_second.back() / reference);
  }
  Table table({"way", "MB/s", "x tee(1)", "paired, least to most"});
  for (const Way& way : ways) {
    table.add({way.name, text("%.0f", median(way.megabytes_per_second)),
               text("%.2f", median(way.ratios)),
               text("%.2f to %.2f", quantile(way.ratios, 0), quantile(way.ratios, 1))});
  }
  table.print();
}

pid_t tee_of(pid_t init) {
  for (const pid_t child : children_of(init)) {
    if (read_text(proc_path(child, "comm")) == "trainit-tee\n") return child;
  }
  return -1;
}

void measure_cpu(const Field& field) {
  printf("\nCPU time while %d ranks print %lld MB/s in all, a window of %d s\n\n", kRanks,
         static_cast<long long>(kRankBytesPerSecond) * kRanks / 1'000'000, kWindowSeconds);
  const std::string table_path = field.folder + "/eight.json";
  write_server_table(table_path, kRanks);
  setenv("TRAINIT_RUN_DIR", (field.folder + "/run").c_str(), 1);
  const Command ranks({field.trainit, "--platform=bare", "--framework=ascend",
                       "--rank-table=" + table_path, "--output=tee", "--log-max-size=64m",
                       "--log-keep=1", "--log-dir=" + field.folder + "/tee-logs", "--", field.self,
                       "--program", "print", std::to_string(INT64_MAX),
                       std::to_string(kRankBytesPerSecond)});
  const pid_t init = start(ranks, {.place = Place::kHere});
  const timespec second{1, 0};
  nanosleep(&second, nullptr);
  const pid_t tee = tee_of(init);
  if (tee < 0) fail("there is no tee");
  const double init_us = cpu_us(init);
  const double tee_us = cpu_us(tee);
  const std::int64_t init_switches = context_switches(init);
  const timespec window{kWindowSeconds, 0};
  nanosleep(&window, nullptr);
  Table table({"process", "CPU %", "wake-ups/s", "VmRSS kB"});
  const auto rss = [](pid_t pid) {
    return text("%ld", static_cast<long>(field_of(proc_path(pid, "status"), "VmRSS")));
  };
  table.add(
      {"trainit", text("%.3f", (cpu_us(init) - init_us) / kWindowSeconds / 1e4),
       text("%.2f", static_cast<double>(context_switches(init) - init_switches) / kWindowSeconds),
       rss(init)});
  table.add({"its tee", text("%.1f", (cpu_us(tee) - tee_us) / kWindowSeconds / 1e4), "", rss(tee)});
  table.print();
  kill_and_finish(init);
}

}  // namespace

void tee(const Field& field) {
  printf("## The tee: %lld MB of lines through it into a file and a pipe, medians of %d\n\n",
         static_cast<long long>(kBytes) / 1'000'000, kRounds);
  measure_throughput(field);
  measure_cpu(field);
}

}  // namespace bench
