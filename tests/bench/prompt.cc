// What people wait for at a prompt, beside a program that does nothing.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 200;
constexpr unsigned kLookUs = 10'000;
constexpr int kMostLooks = 1000;

struct Way {
  std::string name;
  Command command;
  std::vector<double> us = {};
};

pid_t start_job(const Field& field) {
  const Command job({field.trainit, "--fan-out", "--slots", "8", "--output", "inherit", "--",
                     field.self, "--program", "sleep"},
                    {"TRAINIT_RUN_DIR=" + field.folder + "/run"});
  const pid_t pid = start(job, {});
  for (int look = 0; access((field.folder + "/run/control").c_str(), F_OK) != 0; ++look) {
    if (look == kMostLooks) fail("a job to ask for its status");
    usleep(kLookUs);
  }
  return pid;
}

}  // namespace

void prompt(const Field& field) {
  printf("## To the prompt, beside /bin/true; %d interleaved rounds\n\n", kRounds);
  const pid_t job = start_job(field);
  const Words here = {"TRAINIT_RUN_DIR=" + field.folder + "/run"};
  std::vector<Way> ways;
  ways.push_back({"/bin/true", Command({"/bin/true"})});
  auto add = [&](const Words& words) {
    Words argv = {field.trainit};
    std::string name = "trainit";
    for (const std::string& word : words) {
      argv.push_back(word);
      name += " " + word;
    }
    ways.push_back({name, Command(argv, here)});
  };
  add({"--help"});
  add({"help", "all"});
  add({"version"});
  add({"status"});
  add({"status", "--json"});
  add({"plan", "--", "/bin/true"});
  add({"plan", "--fan-out", "--slots", "8", "--", "/bin/true"});
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int round = -1; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(ways.size())) {
      const std::int64_t begin = now_ns();
      const int code = finish(start_fast(ways[i].command, null));
      if (code != 0) fail(ways[i].name + text(": exit code %d", code));
      if (round >= 0) ways[i].us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
    }
  }
  close(null);
  kill(job, SIGTERM);
  finish(job);
  Table table({"command", "median us", "quartiles", "x /bin/true"});
  for (const Way& way : ways) {
    table.add({way.name, text("%.0f", median(way.us)),
               text("%.0f-%.0f", quantile(way.us, 0.25), quantile(way.us, 0.75)),
               with_spread(way.us, ways[0].us)});
  }
  table.print();
}

}  // namespace bench
