#include "tests/payload/payload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace payload {

namespace {

std::string variable(const char* name, const char* fallback) {
  const char* value = getenv(name);
  return value != nullptr ? value : fallback;
}

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

std::string own_link(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  return size < 0 ? "?" : std::string(target.data(), static_cast<std::size_t>(size));
}

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

int next(Args args) { return args.empty() ? 0 : run(args); }

// print-env [NAME...]: NAME=value, or "NAME is unset"; all without names.
int print_env(Args args) {
  if (args.empty()) {
    for (char** entry = environ; *entry != nullptr; ++entry) puts(*entry);
  }
  for (const char* name : args) {
    const char* value = getenv(name);
    if (value != nullptr) {
      printf("%s=%s\n", name, value);
    } else {
      printf("%s is unset\n", name);
    }
  }
  return 0;
}

// exit N
int exit_with(Args args) { return atoi(args[0]); }

// kill-self SIGNAL
int kill_self(Args args) {
  kill(getpid(), signal_number(args[0]));
  sleep_for_ever();
}

// kill PID SIGNAL
int kill_other(Args args) {
  if (kill(atoi(args[0]), signal_number(args[1])) != 0) fail("kill");
  return 0;
}

// sleep-forever: ends by any signal, as a program without handlers does.
int sleep_forever(Args) {
  announce();
  sleep_for_ever();
}

// ignore-term: only KILL ends it.
int ignore_term(Args) {
  signal(SIGTERM, SIG_IGN);
  announce();
  sleep_for_ever();
}

// term-after MS N: on TERM works on for MS, tells `saved`, exits with N.
int term_after(Args args) {
  hold_signals({SIGTERM});
  announce();
  take_signal({SIGTERM}, -1);
  const long work_ms = atol(args[0]);
  const timespec work{work_ms / 1000, work_ms % 1000 * 1'000'000};
  nanosleep(&work, nullptr);
  tell("saved", "");
  return atoi(args[1]);
}

// record-signals: tells `signals`, a line "NAME SENDER" for each signal in order; TERM ends it.
int record_signals(Args) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  announce();
  std::string seen;
  while (true) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    if (signal < 0) continue;
    const char* name = sigabbrev_np(signal);
    const std::string sender = info.si_pid == getppid() ? "parent" : "other";
    seen += (name != nullptr ? name : std::to_string(signal)) + " " + sender + "\n";
    tell("signals", seen);
    if (signal == SIGTERM) return 0;
  }
}

// wait-file PATH [COMMAND...]: until PATH exists.
int wait_file(Args args) {
  const std::string path = args[0];
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int watch = inotify_init1(IN_CLOEXEC);
  if (watch < 0 || inotify_add_watch(watch, folder.c_str(), IN_CREATE | IN_MOVED_TO) < 0) {
    fail("watching " + folder);
  }
  announce();
  std::array<char, 4096> events{};
  while (access(path.c_str(), F_OK) != 0) {
    if (read(watch, events.data(), events.size()) < 0 && errno != EINTR) fail("inotify");
  }
  close(watch);
  return next(args.subspan(1));
}

// on-rank N COMMAND... else COMMAND...
int on_rank(Args args) {
  const auto other =
      std::ranges::find_if(args, [](const char* word) { return strcmp(word, "else") == 0; });
  const auto first_size = static_cast<std::size_t>(other - args.begin());
  if (rank() == args[0]) return next(args.first(first_size).subspan(1));
  return other == args.end() ? 0 : next(args.subspan(first_size + 1));
}

// exec-into PATH PROGRAM...: with PATH, a FIFO, as its stdout and stderr.
int exec_into(Args args) {
  const int fd = open(args[0], O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(args[0]);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execvp(args[1], args.data() + 1);
  fail(args[1]);
}

// complain N COMMAND...: so many lines on stderr, then the command.
int complain(Args args) {
  for (int i = 1; i <= atoi(args[0]); ++i) {
    fprintf(stderr, "complaint %d of rank %s\n", i, rank().c_str());
  }
  return run(args.subspan(1));
}

// eat-memory MB: touches every page, so that a memory limit counts it.
int eat_memory(Args args) {
  const std::size_t size_bytes = static_cast<std::size_t>(atol(args[0])) << 20;
  void* memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  memset(memory, 1, size_bytes);
  announce();
  sleep_for_ever();
}

// forks N: N children that stay; tells `forks` how many there are. A pids limit may refuse some.
int forks(Args args) {
  int made = 0;
  for (int left = atoi(args[0]); left > 0; --left) {
    const pid_t child = fork();
    if (child == 0) sleep_for_ever();
    if (child < 0) break;
    ++made;
  }
  tell("forks", std::to_string(made));
  announce();
  sleep_for_ever();
}

// fds: a line "FD TARGET" for each open descriptor.
int fds(Args) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) fail("/proc/self/fd");
  std::vector<int> open;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') open.push_back(atoi(entry->d_name));
  }
  std::erase(open, dirfd(folder));
  closedir(folder);
  std::ranges::sort(open);
  for (const int fd : open) {
    printf("%d %s\n", fd, own_link("/proc/self/fd/" + std::to_string(fd)).c_str());
  }
  return 0;
}

// status FIELD...: these lines of /proc/self/status.
int status(Args args) {
  FILE* file = fopen("/proc/self/status", "re");
  if (file == nullptr) fail("/proc/self/status");
  std::array<char, 512> line{};
  while (fgets(line.data(), line.size(), file) != nullptr) {
    const std::string_view text = line.data();
    for (const std::string_view field : args) {
      if (text.starts_with(field) && text.substr(field.size()).starts_with(':')) {
        fputs(line.data(), stdout);
      }
    }
  }
  fclose(file);
  return 0;
}

// stdout-flood: writes until nobody reads any more, tells `blocked`, and stays blocked in write.
int stdout_flood(Args) {
  constexpr int kBlockedMs = 500;
  const std::string line = std::string(1023, 'x') + "\n";
  announce();
  bool told = false;
  while (true) {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    if (!told && poll(&out, 1, kBlockedMs) == 0) {
      told = true;
      tell("blocked", "");
    }
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0 && errno != EINTR) fail("stdout");
  }
}

// report [COMMAND...]: one line of who this process is.
int report(Args args) {
  printf(
      "rank %s of %s: DEVICE_ID=%s ASCEND_DEVICE_ID=%s pid=%d ppid=%d cwd=%s RANK_TABLE_FILE=%s\n",
      rank().c_str(), variable("RANK_SIZE", "?").c_str(), variable("DEVICE_ID", "?").c_str(),
      variable("ASCEND_DEVICE_ID", "?").c_str(), getpid(), getppid(),
      own_link("/proc/self/cwd").c_str(), variable("RANK_TABLE_FILE", "?").c_str());
  fflush(stdout);
  return next(args);
}

// stamp: CLOCK_MONOTONIC in nanoseconds as eight bytes into PAYLOAD_STAMP, a FIFO or a file.
int stamp(Args) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  const int fd = open(variable("PAYLOAD_STAMP", "").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0 || write(fd, &now_ns, sizeof now_ns) != sizeof now_ns) fail("PAYLOAD_STAMP");
  return 0;
}

struct Command {
  std::string_view name;
  std::size_t least_args;
  int (*run)(Args);
};

constexpr std::array kCommands{
    Command{"print-env", 0, print_env},
    Command{"exit", 1, exit_with},
    Command{"kill-self", 1, kill_self},
    Command{"kill", 2, kill_other},
    Command{"sleep-forever", 0, sleep_forever},
    Command{"ignore-term", 0, ignore_term},
    Command{"term-after", 2, term_after},
    Command{"record-signals", 0, record_signals},
    Command{"wait-file", 1, wait_file},
    Command{"on-rank", 2, on_rank},
    Command{"exec-into", 2, exec_into},
    Command{"complain", 2, complain},
    Command{"eat-memory", 1, eat_memory},
    Command{"forks", 1, forks},
    Command{"fds", 0, fds},
    Command{"status", 1, status},
    Command{"stdout-flood", 0, stdout_flood},
    Command{"report", 0, report},
    Command{"stamp", 0, stamp},
    Command{"grandchild", 1, grandchild},
    Command{"loader", 1, loader},
    Command{"family", 0, family},
    Command{"runners", 1, runners},
    Command{"confinement", 0, confinement},
    Command{"try-call", 1, try_call},
    Command{"print-signals", 0, print_signals},
    Command{"queue-to-parent", 0, queue_to_parent},
    Command{"leave", 2, leave},
    Command{"orphan", 0, orphan},
    Command{"zombies", 1, zombies},
    Command{"foreground", 0, foreground},
    Command{"orphans", 1, orphans},
    Command{"leaderless", 2, leaderless},
    Command{"reuse-pid", 2, reuse_pid},
    Command{"breed", 0, breed},
    Command{"until-restart", 2, until_restart},
    Command{"journal", 1, journal},
    Command{"tell", 1, tell_words},
    Command{"export", 1, export_line},
    Command{"lines", 1, lines},
    Command{"train", 2, train},
    Command{"fail-when", 1, fail_when},
    Command{"terminals", 0, terminals},
};

}  // namespace

int run(Args args) {
  for (const Command& command : kCommands) {
    if (command.name == args[0] && args.size() > command.least_args) {
      return command.run(args.subspan(1));
    }
  }
  fprintf(stderr, "payload: no such command, or too few arguments: %s\n", args[0]);
  return 2;
}

std::string rank() { return variable("RANK_ID", variable("RANK", "0").c_str()); }

void tell(std::string_view name, std::string_view content) {
  const char* folder = getenv("PAYLOAD_OUT");
  if (folder == nullptr) return;
  const std::string path = std::string(folder) + "/" + std::string(name) + "-" + rank();
  const std::string beside = path + "." + std::to_string(getpid());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail(beside);
  if (write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    fail(beside);
  }
  close(fd);
  if (rename(beside.c_str(), path.c_str()) != 0) fail(path);
}

void announce() { tell("ready", std::to_string(getpid())); }

void hold_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Taken take_signal(std::initializer_list<int> signals, int timeout_ms) {
  const sigset_t set = set_of(signals);
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  siginfo_t info{};
  while (true) {
    const int signal =
        timeout_ms < 0 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &timeout);
    if (signal > 0) return {signal, info.si_pid};
    if (errno != EINTR) return {};
  }
}

int signal_number(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const char* name = sigabbrev_np(signal);
    if ((name != nullptr && text == name) || text == std::to_string(signal)) return signal;
  }
  return 0;
}

void fail(std::string_view what) {
  fprintf(stderr, "payload: %.*s: %s\n", static_cast<int>(what.size()), what.data(),
          strerror(errno));
  exit(2);
}

}  // namespace payload

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("usage: payload COMMAND [ARG...] [COMMAND...]\n", stderr);
    return 2;
  }
  return payload::run(payload::Args(argv + 1, static_cast<std::size_t>(argc - 1)));
}
