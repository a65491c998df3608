#include "tests/bench/programs/programs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tests/bench/copy/copy_floor.h"
#include "tests/bench/copy/copy_trees.h"
#include "tests/bench/copy/slow_disk.h"
#include "tests/bench/harness.h"
#include "tests/bench/programs/job_floors.h"

namespace bench {
namespace {

void write_stamp() {
  const std::int64_t now = now_ns();
  if (write(STDOUT_FILENO, &now, sizeof now) != sizeof now) _exit(1);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigfillset(&action.sa_mask);  // of two that are pending, the second would begin first
  sigaction(signal, &action, nullptr);
}

[[noreturn]] int sleep_on() {
  for (;;) pause();
}

int fork_exec(int argc, char** argv) {
  if (argc < 3) return 2;
  const Words words(argv + 2, argv + argc);
  for (int rank = 0; rank < atoi(argv[1]); ++rank) {
    if (fork() == 0) execute(words);
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}

int handler(int /*argc*/, char** /*argv*/) {
  handle(SIGUSR1, [](int) { write_stamp(); });
  write_stamp();
  sleep_on();
}

int ends_on_term(int /*argc*/, char** /*argv*/) {
  handle(SIGTERM, [](int) { _exit(42); });
  handle(SIGWINCH, [](int) { _exit(43); });
  write_stamp();
  sleep_on();
}

int leave(int argc, char** argv) {
  const int zombies = argc > 1 ? atoi(argv[1]) : 0;
  for (int i = 0; i < zombies; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  }
  write_stamp();
  _exit(0);
}

int orphans(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  write_stamp();
  for (int i = 0; i < count; ++i) {
    // Twice vfork: the copies would take most of the time. Dead before its parent ends, it is
    // handed over as a zombie.
    // NOLINTBEGIN(bugprone-unsafe-functions)
    const pid_t child = vfork();
    if (child == 0) {
      if (vfork() == 0) _exit(0);
      _exit(0);
    }
    // NOLINTEND(bugprone-unsafe-functions)
    waitpid(child, nullptr, 0);
  }
  write_stamp();
  sleep_on();
}

int burst(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  const pid_t parent = fork();
  if (parent == 0) {
    for (int i = 0; i < count; ++i) {
      if (fork() != 0) continue;
      char end = 0;
      while (read(STDIN_FILENO, &end, 1) > 0) {
      }
      _exit(0);
    }
    _exit(0);
  }
  waitpid(parent, nullptr, 0);
  write_stamp();
  sleep_on();
}

int train(int argc, char** argv) {
  constexpr std::size_t kPieceBytes = 1 << 16;
  if (argc < 3) return 2;
  const std::size_t bytes = static_cast<std::size_t>(atoi(argv[1])) << 20;
  const int every = atoi(argv[2]);
  std::string piece;
  for (int line = 1; piece.size() < kPieceBytes; ++line) {
    piece += line % every == 0
                 ? text("this iteration hardware time is %d.521 and e2e time is 3317.7949 ms.\n",
                        1000 + line)
                 : text("2026-11-20 10:00:%02d INFO step %d loss 2.%06d this is what a line is\n",
                        line % 60, line, line);
  }
  for (std::size_t written = 0; written < bytes; written += piece.size()) {
    for (std::size_t at = 0; at < piece.size();) {
      const ssize_t count = write(STDOUT_FILENO, piece.data() + at, piece.size() - at);
      if (count <= 0) return 1;
      at += static_cast<std::size_t>(count);
    }
  }
  return 0;
}

// print BYTES [BYTES_PER_SECOND]: lines of 80 bytes, at most so fast.
int print(int argc, char** argv) {
  if (argc < 2) return 2;
  constexpr std::size_t kAtOnce = 65'520;  // whole lines
  std::string lines;
  while (lines.size() < kAtOnce) lines += std::string(79, 'x') + "\n";
  std::int64_t left = atoll(argv[1]);
  const std::int64_t rate = argc > 2 ? atoll(argv[2]) : 0;
  while (left > 0) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(left, kAtOnce));
    const ssize_t count = write(STDOUT_FILENO, lines.data(), size);
    if (count < 0) return 1;
    left -= count;
    if (rate <= 0) continue;
    const std::int64_t rest_ns = count * 1'000'000'000 / rate;
    const timespec rest{rest_ns / 1'000'000'000, rest_ns % 1'000'000'000};
    nanosleep(&rest, nullptr);
  }
  return 0;
}

// tee-floor FILE: what a tee cannot do without. What comes goes to stdout without a copy, and with
// one into memory, where its end is looked for, and from there to the file, to which it is
// appended.
int tee_floor(int argc, char** argv) {
  constexpr std::size_t kAtOnce = 128 << 10;
  if (argc < 2) return 2;
  fcntl(STDIN_FILENO, F_SETPIPE_SZ, 256 << 10);
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::unique_ptr<char, decltype(&free)> buffer(
      static_cast<char*>(aligned_alloc(4096, kAtOnce)), free);
  for (;;) {
    ssize_t left = ::tee(STDIN_FILENO, STDOUT_FILENO, kAtOnce, 0);
    if (left <= 0) return left == 0 ? 0 : 1;
    while (left > 0) {
      const ssize_t count = read(STDIN_FILENO, buffer.get(), static_cast<std::size_t>(left));
      if (count <= 0 || write(file, buffer.get(), static_cast<std::size_t>(count)) != count) {
        return 1;
      }
      left -= count;
    }
  }
}

struct Program {
  const char* name;
  int (*run)(int argc, char** argv);
};

constexpr std::array kPrograms{
    Program{"fork-exec", fork_exec},
    Program{"handler", handler},
    Program{"ranks-floor", ranks_floor},
    Program{"stop-floor", stop_floor},
    Program{"ends-on-term", ends_on_term},
    Program{"leave", leave},
    Program{"orphans", orphans},
    Program{"burst", burst},
    Program{"train", train},
    Program{"print", print},
    Program{"tee-floor", tee_floor},
    Program{"copy-raw",
            [](int argc, char** argv) { return argc == 3 ? copy_raw(argv[1], argv[2]) : 2; }},
    Program{
        "look-floor",
        [](int argc, char** argv) { return argc == 3 ? look_floor(argv[1], atoi(argv[2])) : 2; }},
    Program{"copy-floor",
            [](int argc, char** argv) {
              return argc == 4 ? copy_floor(argv[1], argv[2], atoi(argv[3])) : 2;
            }},
    Program{"slow-disk",
            [](int argc, char** argv) {
              if (argc != 6) return 2;
              return serve_slow_disk(argv[1], {.write_us = atoi(argv[2]),
                                               .other_us = atoi(argv[3]),
                                               .streams = atoi(argv[4]),
                                               .lists_attributes = atoi(argv[5]) != 0});
            }},
    Program{"sleep", [](int, char**) -> int { sleep_on(); }},
};

}  // namespace

int run_program(int argc, char** argv) {
  for (const Program& program : kPrograms) {
    if (strcmp(program.name, argv[0]) == 0) return program.run(argc, argv);
  }
  return 2;
}

}  // namespace bench
