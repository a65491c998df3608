// Start-up as images have it: a grace, and the hooks of this repository, beside the bare command.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 500;

struct Way {
  const char* name;
  Command command;
  std::vector<double> us = {};
};

// An /etc of this process and its children alone: the machine's, with or without hooks.
void mount_etc(const Field& field) {
  const std::string etc = field.folder + "/etc";
  const std::string said = field.folder + "/said";
  measure({"cp", "-a", "/etc", etc}, said);
  measure({"rm", "-rf", etc + "/trainit"}, said);
  if (mount(etc.c_str(), "/etc", nullptr, MS_BIND, nullptr) != 0) fail("an /etc of its own");
}

void measure_ways(std::vector<Way>& ways) {
  for (const Way& way : ways) finish(start_fast(way.command));
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : shuffled(ways.size())) {
      const std::int64_t begin = now_ns();
      if (finish(start_fast(ways[i].command)) != 0) fail(ways[i].name);
      ways[i].us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
    }
  }
}

// What an init adds to the command by itself, of each round.
std::vector<double> added(const Way& way, const Way& none) {
  std::vector<double> more;
  for (std::size_t i = 0; i < way.us.size(); ++i) more.push_back(way.us[i] - median(none.us));
  return more;
}

void print_ways(const char* title, const std::vector<Way>& ways) {
  printf("### %s; %d rounds\n\n", title, kRounds);
  Table table({"start", "median us", "added us", "x added by tini-static"});
  const std::vector<double> base = added(ways[1], ways[0]);
  for (const Way& way : ways) {
    const std::vector<double> more = added(way, ways[0]);
    table.add({way.name, text("%.0f", median(way.us)), text("%.0f", median(more)),
               with_spread(more, base)});
  }
  table.print();
}

std::vector<Way> ways_of(const Field& field, const Words& tini) {
  const Words plain = {field.trainit, "--", field.nop};
  std::vector<Way> ways;
  ways.push_back({"no init", Command({field.nop})});
  ways.push_back({"tini-static", Command(tini)});
  ways.push_back({"trainit", Command(plain)});
  ways.push_back({"trainit, TRAINIT_GRACE=28s", Command(plain, {"TRAINIT_GRACE=28s"})});
  return ways;
}

}  // namespace

void start_image(const Field& field) {
  puts("## Start-up in an image of README's: INIT nop, not as PID 1\n");
  Words tini;
  for (const Init& init : field.here) {
    if (init.name == kReference && init.missing.empty()) tini = init.words;
  }
  if (!field.root || tini.empty()) {
    puts("needs root and tini-static\n");
    return;
  }
  tini.push_back(field.nop);
  const std::string said = field.folder + "/said";
  mount_etc(field);
  std::vector<Way> bare = ways_of(field, tini);
  measure_ways(bare);
  print_ways("Without hooks", bare);
  measure({"mkdir", "-p", "/etc/trainit"}, said);
  measure({"cp", "-r", TRAINIT_SOURCE_DIR "/hooks", "/etc/trainit/hooks"}, said);
  measure({"chown", "-R", "root:root", "/etc/trainit"}, said);
  std::vector<Way> hooked = ways_of(field, tini);
  measure_ways(hooked);
  print_ways("With the hooks of this repository", hooked);
  if (umount2("/etc", MNT_DETACH) != 0) fail("umount /etc");
}

}  // namespace bench
