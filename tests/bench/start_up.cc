// Start-up and end of an init over a program that does nothing: all inits in each round, in a
// random order, so that whatever else the machine does meets all of them.

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 1000;
constexpr int kNapRounds = 300;

struct Series {
  std::string name;
  Command nop;
  Command nap;
  std::vector<double> wall_us;
  std::vector<double> cpu_us;
  std::vector<double> command_us;
};

double microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

void run_once(Series* series) {
  int status = 0;
  rusage usage{};
  const std::int64_t begin = now_ns();
  const pid_t child = start_fast(series->nop);
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail(series->name);
  series->wall_us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
  series->cpu_us.push_back(microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
}

void time_first_instruction(Series* series) {
  Pipe said;
  timespec first{};
  const std::int64_t begin = now_ns();
  const pid_t child = start_fast(series->nap, said.write_fd);
  if (read(said.read_fd, &first, sizeof first) != sizeof first) fail(series->name);
  if (finish(child) != 0) fail(series->name);
  const std::int64_t came = first.tv_sec * std::int64_t{1'000'000'000} + first.tv_nsec;
  series->command_us.push_back(static_cast<double>(came - begin) / 1e3);
}

Words row(const Series& mine, const Series& nop, const Series* base) {
  return {mine.name,
          text("%.0f (%.0f-%.0f)", median(mine.wall_us), quantile(mine.wall_us, 0.25),
               quantile(mine.wall_us, 0.75)),
          text("%.2f", median(mine.wall_us) / median(nop.wall_us)),
          base != nullptr ? with_spread(mine.wall_us, base->wall_us) : "-",
          text("%.0f", median(mine.cpu_us)),
          base != nullptr ? text("%.2f", median(mine.cpu_us) / median(base->cpu_us)) : "-",
          text("%.0f", median(mine.command_us)),
          base != nullptr ? with_spread(mine.command_us, base->command_us) : "-"};
}

}  // namespace

void start_up(const Field& field) {
  std::vector<Init> all = field.here;
  for (Init& floor : floors(field)) all.push_back(std::move(floor));
  all.push_back({"no init", {}, ""});
  std::vector<Series> series;
  for (const Init& init : all) {
    if (!init.missing.empty()) continue;
    series.push_back({init.name, init.command({field.nop}), init.command({field.nap}), {}, {}, {}});
  }
  for (const Series& warm_up : series) finish(start_fast(warm_up.nop));
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(series.size())) run_once(&series[i]);
  }
  for (int round = 0; round < kNapRounds; ++round) {
    for (const std::size_t i : shuffled(series.size())) time_first_instruction(&series[i]);
  }

  printf(
      "## Start-up of INIT nop, not as PID 1, from before the vfork to its end; %d rounds.\n"
      "Its command's first instruction, %d rounds; quartiles and tenths of the run in brackets\n\n",
      kRounds, kNapRounds);
  Table table({"init", "median us", "x nop", "x tini-static", "CPU us of all", "x tini-static",
               "to the command us", "x tini-static"});
  const auto reference = std::ranges::find(series, kReference, &Series::name);
  for (const Init& init : all) {
    const auto mine = std::ranges::find(series, init.name, &Series::name);
    if (mine == series.end()) {
      table.add({init.name, init.missing});
    } else {
      table.add(row(*mine, series.back(), reference == series.end() ? nullptr : &*reference));
    }
  }
  table.print();
}

}  // namespace bench
