// An init over a process that sleeps: what it holds, and how often it wakes. All at once, so that
// one window serves all.

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <optional>

#include "tests/bench/proc_files.h"
#include "tests/bench/server_table.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kSettleSeconds = 1;
constexpr int kWindowSeconds = 10;
constexpr int kRanks = 8;

struct Sleeper {
  std::string name;
  pid_t pid = -1;
  std::int64_t switches = 0;
  double cpu = 0;
};

void wait_seconds(int seconds) {
  timespec rest{seconds, 0};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

Words memory_row(const Sleeper& sleeper, std::optional<double> tini_rss) {
  const std::string status = proc_path(sleeper.pid, "status");
  const auto rss = static_cast<double>(field_of(status, "VmRSS"));
  const double switches =
      static_cast<double>(context_switches(sleeper.pid) - sleeper.switches) / kWindowSeconds;
  const double cpu = (cpu_us(sleeper.pid) - sleeper.cpu) / kWindowSeconds;
  return {sleeper.name,
          text("%.0f", rss),
          ratio(rss, tini_rss),
          text("%ld", static_cast<long>(field_of(status, "VmHWM"))),
          text("%ld", static_cast<long>(field_of(status, "RssAnon"))),
          text("%ld", static_cast<long>(field_of(proc_path(sleeper.pid, "smaps_rollup"), "Pss"))),
          text("%.2f", switches),
          text("%.0f", cpu)};
}

}  // namespace

void idle(const Field& field) {
  printf("## Idle as PID 1 over a process that sleeps, a window of %d s\n\n", kWindowSeconds);
  if (!field.root) {
    puts("needs root\n");
    return;
  }
  const Words program = {field.self, "--program", "sleep"};
  std::vector<Sleeper> sleepers;
  for (const Init& init : field.pid1) {
    const bool runs = init.missing.empty();
    sleepers.push_back(
        {init.name, runs ? start(init.command(program), {.place = Place::kPid1}) : -1});
  }
  const std::string table_path = field.folder + "/eight.json";
  write_server_table(table_path, kRanks);
  const Command ranks({field.trainit, "--platform=bare", "--framework=ascend",
                       "--rank-table=" + table_path, "--", field.self, "--program", "sleep"});
  sleepers.insert(sleepers.begin() + 1,
                  {"trainit, eight ranks", start(ranks, {.place = Place::kPid1})});

  wait_seconds(kSettleSeconds);
  for (Sleeper& sleeper : sleepers) {
    if (sleeper.pid < 0) continue;
    sleeper.switches = context_switches(sleeper.pid);
    sleeper.cpu = cpu_us(sleeper.pid);
  }
  const std::size_t children = children_of(sleepers[1].pid).size();
  constexpr std::size_t kTees = 1;
  if (children != kRanks + kTees) {
    fail(text("%d ranks and their tee: found %zu children of trainit", kRanks, children));
  }
  wait_seconds(kWindowSeconds);

  const Sleeper& tini = *std::ranges::find(sleepers, "tini", &Sleeper::name);
  std::optional<double> tini_rss;
  if (tini.pid > 0)
    tini_rss = static_cast<double>(field_of(proc_path(tini.pid, "status"), "VmRSS"));
  Table table(
      {"init", "VmRSS kB", "x tini", "VmHWM kB", "RssAnon kB", "Pss kB", "wake-ups/s", "CPU us/s"});
  for (const Sleeper& sleeper : sleepers) {
    table.add(sleeper.pid > 0 ? memory_row(sleeper, tini_rss)
                              : Words{sleeper.name, "not measured"});
  }
  table.print();
  for (const Sleeper& sleeper : sleepers) {
    if (sleeper.pid > 0) kill_and_finish(sleeper.pid);
  }
}

}  // namespace bench
