// From the end of the command to the end of the init: nothing is left, or a thousand zombies are.

#include <stdio.h>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kPatienceMs = 20'000;

struct Case {
  Place place;
  const char* zombies;
  int rounds;
};

constexpr Case kHere{Place::kHere, "0", 200};
constexpr Case kAlone{Place::kPid1, "0", 100};
constexpr Case kLitter{Place::kPid1, "1000", 7};

double delay_us(const Field& field, const Init& init, const Case& test) {
  Pipe said;
  const Words program = {field.self, "--program", "leave", test.zombies};
  const pid_t pid = start(init.command(program), {.place = test.place, .out = said.write_fd});
  said.close_write();
  std::int64_t stamp = 0;
  if (!said.read_stamp(&stamp, kPatienceMs)) fail(init.name + ": its child does not end");
  if (const int code = finish(pid); code != 0) fail(init.name + text(": exit code %d", code));
  return static_cast<double>(now_ns() - stamp) / 1e3;
}

using Delays = std::vector<std::vector<double>>;

Delays measure_all(const Field& field, const std::vector<Init>& inits, const Case& test) {
  Delays delays(inits.size());
  for (int round = 0; round < test.rounds; ++round) {
    for (const std::size_t i : shuffled(inits.size())) {
      if (inits[i].missing.empty()) delays[i].push_back(delay_us(field, inits[i], test));
    }
  }
  return delays;
}

}  // namespace

void exit_delay(const Field& field) {
  printf(
      "## Exit: from the command's end to the init's; medians of %d, %d and %d interleaved "
      "runs\n\n",
      kHere.rounds, kAlone.rounds, kLitter.rounds);
  if (!field.root) {
    puts("needs root\n");
    return;
  }
  std::vector<Init> here = field.here;
  std::vector<Init> pid1 = field.pid1;
  here.push_back({"no init", {}, ""});
  pid1.push_back(here.back());
  const Delays plain = measure_all(field, here, kHere);
  const Delays alone = measure_all(field, pid1, kAlone);
  const Delays litter = measure_all(field, pid1, kLitter);
  Table table({"init", "not PID 1: us", "x no init", "as PID 1: us", "x no init",
               "1,000 zombies: ms", "x no init"});
  for (std::size_t i = 0; i < pid1.size(); ++i) {
    if (!pid1[i].missing.empty() || !here[i].missing.empty()) {
      table.add({pid1[i].name, pid1[i].missing});
      continue;
    }
    table.add({pid1[i].name, text("%.0f", median(plain[i])),
               ratio(median(plain[i]), median(plain.back())), text("%.0f", median(alone[i])),
               ratio(median(alone[i]), median(alone.back())), text("%.1f", median(litter[i]) / 1e3),
               ratio(median(litter[i]), median(litter.back()))});
  }
  table.print();
}

}  // namespace bench
