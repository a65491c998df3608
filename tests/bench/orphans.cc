// Orphans as PID 1: what each costs the init, and how long it leaves one dead.

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <map>

#include "tests/bench/proc_files.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kOrphans = 20'000;
constexpr int kBurst = 5'000;
constexpr int kRounds = 2;
constexpr int kPatienceMs = 60'000;

struct Series {
  std::vector<double> each_us;  // one after the other
  std::vector<double> burst_us;
  std::vector<double> drain_ms;
  std::size_t zombies = 0;  // the most in one sample
  double oldest_ms = 0;
  std::size_t left = 0;
};

void wait_a_millisecond() {
  const timespec rest{0, 1'000'000};
  nanosleep(&rest, nullptr);
}

// Once a millisecond until the program has said that it is done, and then until it is alone or, for
// an init that leaves orphans lying, a second has gone by.
void sample(pid_t init, const Pipe& said, Series* series) {
  constexpr std::int64_t kSettleNs = 1'000'000'000;
  std::map<pid_t, std::int64_t> since;
  std::int64_t done = 0;
  std::size_t children = 0;
  for (;;) {
    const std::int64_t now = now_ns();
    std::map<pid_t, std::int64_t> dead;
    const std::vector<pid_t> pids = children_of(init);
    children = pids.size();
    for (const pid_t pid : pids) {
      if (state_of(pid) != 'Z') continue;
      const auto known = since.find(pid);
      dead[pid] = known != since.end() ? known->second : now;
      series->oldest_ms = std::max(series->oldest_ms, static_cast<double>(now - dead[pid]) / 1e6);
    }
    series->zombies = std::max(series->zombies, dead.size());
    since = std::move(dead);
    std::int64_t stamp = 0;
    if (done == 0 && said.read_stamp(&stamp, 0)) done = now;
    if (done != 0 && (children <= 1 || now - done > kSettleNs)) break;
    wait_a_millisecond();
  }
  series->left = std::max(series->left, children - 1);
}

void one_by_one(const Field& field, const Init& init, Series* series) {
  Pipe said;
  const Words program = {field.self, "--program", "orphans", std::to_string(kOrphans)};
  const pid_t pid = start(init.command(program), {.place = Place::kPid1, .out = said.write_fd});
  said.close_write();
  std::int64_t begun = 0;
  if (!said.read_stamp(&begun, kPatienceMs)) fail(init.name + ": no orphans");
  const double before = cpu_us(pid);
  sample(pid, said, series);
  series->each_us.push_back((cpu_us(pid) - before) / kOrphans);
  kill_and_finish(pid);
}

void all_at_once(const Field& field, const Init& init, Series* series) {
  Pipe said;
  Pipe alive;
  const Words program = {field.self, "--program", "burst", std::to_string(kBurst)};
  const pid_t pid = start(init.command(program),
                          {.place = Place::kPid1, .out = said.write_fd, .in = alive.read_fd});
  said.close_write();
  std::int64_t stamp = 0;
  if (!said.read_stamp(&stamp, kPatienceMs)) fail(init.name + ": no orphans");
  const double before = cpu_us(pid);
  const std::int64_t begin = now_ns();
  alive.close_write();
  while (children_of(pid).size() > 1 && now_ns() - begin < kPatienceMs * 1'000'000LL) {
    wait_a_millisecond();
  }
  series->drain_ms.push_back(static_cast<double>(now_ns() - begin) / 1e6);
  series->burst_us.push_back((cpu_us(pid) - before) / kBurst);
  kill_and_finish(pid);
}

double lowest(const std::vector<double>& values) { return quantile(values, 0); }

double least(const std::vector<Series>& all, const std::vector<Init>& inits,
             std::vector<double> Series::* member) {
  double best = 1e9;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool ours = inits[i].name.starts_with("trainit");
    if (!ours && inits[i].missing.empty()) best = std::min(best, lowest(all[i].*member));
  }
  return best;
}

}  // namespace

void orphans(const Field& field) {
  printf("## Orphans as PID 1: %d one after the other, %d at once; the least of %d rounds\n\n",
         kOrphans, kBurst, kRounds);
  if (!field.root) {
    puts("needs root\n");
    return;
  }
  std::vector<Series> all(field.pid1.size());
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(all.size())) {
      if (!field.pid1[i].missing.empty()) continue;
      one_by_one(field, field.pid1[i], &all[i]);
      all_at_once(field, field.pid1[i], &all[i]);
    }
  }
  const double best_each = least(all, field.pid1, &Series::each_us);
  const double best_burst = least(all, field.pid1, &Series::burst_us);
  Table table({"init", "CPU us each", "x best peer", "left", "most zombies seen", "oldest ms",
               "at once: CPU us each", "x best peer", "drained in ms"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Init& init = field.pid1[i];
    if (!init.missing.empty()) {
      table.add({init.name, init.missing});
      continue;
    }
    const Series& mine = all[i];
    table.add({init.name, text("%.2f", lowest(mine.each_us)),
               ratio(lowest(mine.each_us), best_each), text("%zu", mine.left),
               text("%zu", mine.zombies), text("%.1f", mine.oldest_ms),
               text("%.2f", lowest(mine.burst_us)), ratio(lowest(mine.burst_us), best_burst),
               text("%.0f", lowest(mine.drain_ms))});
  }
  table.print();
}

}  // namespace bench
