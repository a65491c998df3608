// The stop of a job that has long been idle: from TERM to the init to the init's end. As PID 1.

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 60;
constexpr int kPatienceMs = 20'000;
// Long after the start's last work.
constexpr unsigned kIdleUs = 100'000;

double stop_us(const Field& field, const Init& init) {
  Pipe said;
  const Words program = {field.self, "--program", "ends-on-term"};
  const pid_t pid = start(init.command(program), {.place = Place::kPid1, .out = said.write_fd});
  said.close_write();
  std::int64_t stamp = 0;
  if (!said.read_stamp(&stamp, kPatienceMs)) fail(init.name + ": its child does not start");
  usleep(kIdleUs);
  const std::int64_t begin = now_ns();
  kill(pid, SIGTERM);
  const int code = finish(pid);
  const std::int64_t end = now_ns();
  // The command's own, or that of a job that was stopped.
  if (code != 42 && code != 143) fail(init.name + text(": exit code %d", code));
  return static_cast<double>(end - begin) / 1e3;
}

}  // namespace

void stop(const Field& field) {
  printf("## Stop of an idle job as PID 1: from TERM to the container's end; %d rounds\n\n",
         kRounds);
  if (!field.root) {
    puts("needs root\n");
    return;
  }
  std::vector<Init> inits = field.pid1;
  inits.push_back({"trainit, one rank of a resolved job",
                   {field.trainit, "--fan-out", "--slots", "1", "--output", "inherit", "--"},
                   ""});
  inits.push_back({"floor: passes TERM on, leaves the last state",
                   {field.self, "--program", "stop-floor", "/run/floor"},
                   ""});
  std::vector<std::vector<double>> us(inits.size());
  std::size_t base = inits.size();
  for (std::size_t i = 0; i < inits.size(); ++i) {
    if (inits[i].name == "trainit as docker-init") base = i;
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(inits.size())) {
      if (inits[i].missing.empty()) us[i].push_back(stop_us(field, inits[i]));
    }
  }
  Table table({"init", "median us", "quartiles", "x trainit as docker-init"});
  for (std::size_t i = 0; i < inits.size(); ++i) {
    if (!inits[i].missing.empty()) {
      table.add({inits[i].name, inits[i].missing});
      continue;
    }
    table.add({inits[i].name, text("%.0f", median(us[i])),
               text("%.0f-%.0f", quantile(us[i], 0.25), quantile(us[i], 0.75)),
               with_spread(us[i], us[base])});
  }
  table.print();
}

}  // namespace bench
