// A signal to the init until the handler in the process below it runs, one signal at a time.

#include <signal.h>
#include <stdio.h>

#include <algorithm>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 5;
constexpr int kSignals = 400;  // a round
constexpr int kWarmUp = 20;
constexpr int kPatienceMs = 1'000;

struct Series {
  std::vector<double> us;
  int lost = 0;
};

void measure_round(const Init& init, const Words& program, Series* series) {
  Pipe said;
  const pid_t pid = start(init.command(program), {.out = said.write_fd});
  said.close_write();
  std::int64_t stamp = 0;
  if (!said.read_stamp(&stamp, 10 * kPatienceMs)) fail(init.name + ": its child does not run");
  for (int i = -kWarmUp; i < kSignals; ++i) {
    const std::int64_t sent = now_ns();
    kill(pid, SIGUSR1);
    const bool came = said.read_stamp(&stamp, kPatienceMs);
    if (i < 0) continue;
    if (came) {
      series->us.push_back(static_cast<double>(stamp - sent) / 1e3);
    } else {
      ++series->lost;
    }
  }
  kill(pid, SIGTERM);
  finish(pid);
}

}  // namespace

void forward(const Field& field) {
  printf("## Forwarding: SIGUSR1 to the init until the handler below it, %d signals one by one\n\n",
         kRounds * kSignals);
  std::vector<Init> all = field.here;
  all.push_back({"no init", {}, ""});
  const Words program = {field.self, "--program", "handler"};
  std::vector<Series> series(all.size());
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(all.size())) {
      if (all[i].missing.empty()) measure_round(all[i], program, &series[i]);
    }
  }
  const double direct = median(series.back().us);
  const auto reference =
      static_cast<std::size_t>(std::ranges::find(all, kReference, &Init::name) - all.begin());
  const bool known = all[reference].missing.empty();
  Table table({"init", "median us", "x no init", "x tini-static", "p99 us", "x tini-static",
               "least us", "lost"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].missing.empty() || series[i].us.empty()) {
      table.add({all[i].name, all[i].missing});
      continue;
    }
    const double middle = median(series[i].us);
    const double p99 = quantile(series[i].us, 0.99);
    table.add({all[i].name, text("%.1f", middle), ratio(middle, direct),
               known ? ratio(middle, median(series[reference].us)) : "-", text("%.1f", p99),
               known ? ratio(p99, quantile(series[reference].us, 0.99)) : "-",
               text("%.1f", quantile(series[i].us, 0)), text("%d", series[i].lost)});
  }
  table.print();
}

}  // namespace bench
