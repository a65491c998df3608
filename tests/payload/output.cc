// What a training process prints, and where to.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/payload/payload.h"

namespace payload {

// count N [COMMAND...]: 1 to N, one a line.
int count(Args args) {
  const long last = atol(args[0]);
  for (long i = 1; i <= last; ++i) printf("%ld\n", i);
  fflush(stdout);
  return args.size() > 1 ? run(args.subspan(1)) : 0;
}

// terminals [COMMAND...]: which of 0, 1 and 2 are one.
int terminals(Args args) {
  printf("terminals: %d%d%d\n", isatty(0), isatty(1), isatty(2));
  fflush(stdout);
  return args.empty() ? 0 : run(args);
}

// kill-named NAME SIGNAL: all processes of this name.
int kill_named(Args args) {
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = atoi(entry.path().filename().c_str());
    std::string name;
    std::ifstream comm(entry.path() / "comm");
    if (pid <= 0 || !std::getline(comm, name) || name != args[0]) continue;
    if (kill(pid, signal_number(args[1])) == 0) ++killed;
  }
  return killed > 0 ? 0 : 3;
}

}  // namespace payload
