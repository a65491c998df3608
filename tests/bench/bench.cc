// What the documents claim, measured against something else in the same run, as ratios:
// bench TRAINIT PAYLOAD [TOPIC...]. Static and small, because what it starts begins as its copy,
// and because it is also what runs below the inits.

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tests/bench/programs/programs.h"
#include "tests/bench/topics.h"

namespace {

struct Topic {
  const char* name;
  void (*measure)(const bench::Field& field);
};

constexpr std::array kTopics{
    Topic{"start", bench::start_up},    Topic{"work", bench::start_work},
    Topic{"idle", bench::idle},         Topic{"orphans", bench::orphans},
    Topic{"forward", bench::forward},   Topic{"exit", bench::exit_delay},
    Topic{"lost", bench::lost_signals}, Topic{"ranktable", bench::rank_table},
    Topic{"lines", bench::line_watch},  Topic{"tee", bench::tee},
    Topic{"copy", bench::copy},         Topic{"image", bench::image},
    Topic{"recovery", bench::recovery}, Topic{"image-start", bench::start_image},
    Topic{"stop", bench::stop},         Topic{"prompt", bench::prompt},
    Topic{"warm", bench::warm},
};

std::string absolute(const char* path) {
  std::array<char, PATH_MAX> resolved{};
  if (realpath(path, resolved.data()) == nullptr) bench::fail(path);
  return resolved.data();
}

// In a session of its own, so that no init takes the terminal away, and with a /run of its own: the
// instances measured here are nobody else's.
int run_apart(int (*run)(int, char**), int argc, char** argv) {
  const pid_t child = fork();
  if (child > 0) return bench::finish(child);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  if (geteuid() == 0 &&
      (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
       mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0)) {
    bench::fail("a /run of its own");
  }
  exit(run(argc, argv));
}

int measure_topics(int argc, char** argv) {
  const std::string trainit = absolute(argv[1]);
  const std::string payload = absolute(argv[2]);
  const std::string self = absolute("/proc/self/exe");
  std::string folder = "/tmp/trainit-bench.XXXXXX";
  // The ranks' directories go there, too.
  if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0) bench::fail(folder);
  const bench::Field field = bench::gather_field(trainit, self, folder);
  auto wanted = [&](const char* name) {
    return argc == 3 || std::any_of(argv + 3, argv + argc,
                                    [&](const char* word) { return strcmp(word, name) == 0; });
  };
  for (const Topic& topic : kTopics) {
    if (wanted(topic.name)) topic.measure(field);
  }
  if (wanted("fanout")) bench::fan_out(field, payload);
  if (chdir("/") != 0) bench::fail("/");
  bench::measure({"rm", "-rf", folder}, "/dev/null");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "--program") == 0) return bench::run_program(argc - 2, argv + 2);
  if (argc < 3) {
    fputs("usage: bench TRAINIT PAYLOAD [TOPIC...]\ntopics: fanout", stderr);
    for (const Topic& topic : kTopics) fprintf(stderr, " %s", topic.name);
    fputs("\n", stderr);
    return 2;
  }
  return run_apart(measure_topics, argc, argv);
}
