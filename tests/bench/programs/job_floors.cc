#include "tests/bench/programs/job_floors.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/bench/harness.h"

namespace bench {
namespace {

constexpr std::size_t kStateBytes = 1500;
constexpr std::size_t kPlanBytes = 4000;
constexpr std::size_t kEnvironmentBytes = 2000;

void must(bool good, const char* what) {
  if (!good) fail(what);
}

void replace_file(int folder, const char* name, std::size_t bytes) {
  const std::string content(bytes, '.');
  const int fd = openat(folder, ".new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  must(fd >= 0 && write(fd, content.data(), bytes) == static_cast<ssize_t>(bytes), name);
  close(fd);
  // A rename onto another file waits for the disk of ext4.
  if (renameat2(folder, ".new", folder, name, RENAME_EXCHANGE) == 0) {
    must(unlinkat(folder, ".new", 0) == 0, name);
  } else {
    must(renameat(folder, ".new", folder, name) == 0, name);
  }
}

int make_folder(const std::string& path) {
  mkdir(path.c_str(), 0755);
  const int fd = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  must(fd >= 0, path.c_str());
  return fd;
}

void take_folder(int folder, const std::string& path) {
  const int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  must(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0, "lock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/control", path.c_str());
  unlink(address.sun_path);
  const int control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  must(bind(control, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  must(listen(control, 16) == 0, "listen");
}

// The plan's bytes come back by the pipe.
void resolve(int ranks, int folder, const char* table) {
  std::array<int, 2> answer{};
  must(pipe2(answer.data(), O_CLOEXEC) == 0, "pipe2");
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char> bytes(1 << 16);
    const int fd = open(table, O_RDONLY | O_CLOEXEC);
    must(read(fd, bytes.data(), bytes.size()) > 0, table);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const char* kind : {"device", "log"}) {
        mkdirat(folder, text("%s%d", kind, rank).c_str(), 0755);
      }
    }
    for (const char* name : {"table.json", "hook.py", "plan.txt"}) {
      replace_file(folder, name, kPlanBytes);
    }
    _exit(write(answer[1], bytes.data(), kPlanBytes) == kPlanBytes ? 0 : 1);
  }
  std::array<char, kPlanBytes> plan;
  close(answer[1]);
  must(read(answer[0], plan.data(), plan.size()) > 0, "the plan");
  waitpid(child, nullptr, 0);
  close(answer[0]);
}

// Ends with the last writer.
pid_t start_writer(int folder, const std::vector<int>& sources, const std::vector<int>& ends) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (const int end : ends) close(end);
  std::vector<pollfd> polled;
  std::vector<int> logs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    polled.push_back({sources[i], POLLIN, 0});
    const std::string name = text("rank-%zu.log", i);
    logs.push_back(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    must(logs.back() >= 0, name.c_str());
  }
  std::size_t left = polled.size();
  std::array<char, 4096> bytes;
  while (left > 0 && poll(polled.data(), polled.size(), -1) > 0) {
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t got = read(polled[i].fd, bytes.data(), bytes.size());
      if (got > 0 && write(logs[i], bytes.data(), static_cast<std::size_t>(got)) == got) continue;
      polled[i].fd = -1;
      --left;
    }
  }
  _exit(0);
}

// The read end of its report: it ends with the exec, or says that there was none.
int start_rank(int folder, int rank, int out, char** program) {
  std::array<int, 2> report{};
  must(pipe2(report.data(), O_CLOEXEC) == 0, "pipe2");
  if (fork() == 0) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    const int place = openat(folder, text("device%d", rank).c_str(), O_PATH | O_CLOEXEC);
    const bool there = fchdir(place) == 0;
    for (int i = 0; i < 16; ++i) setenv(text("RANK_VARIABLE_%d", i).c_str(), "value", 1);
    if (there) execv(program[0], program);
    _exit(write(report[1], "!", 1) == 1 ? 127 : 126);
  }
  close(report[1]);
  return report[0];
}

}  // namespace

int ranks_floor(int argc, char** argv) {
  const char* path = getenv("TRAINIT_RUN_DIR");
  if (argc < 4 || path == nullptr) return 2;
  const int ranks = atoi(argv[1]);
  const int folder = make_folder(path);
  take_folder(folder, path);
  replace_file(folder, "state.json", kStateBytes);
  resolve(ranks, folder, argv[2]);
  std::vector<int> sources;
  std::vector<int> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> printed{};
    must(pipe2(printed.data(), O_CLOEXEC) == 0, "pipe2");
    sources.push_back(printed[0]);
    ends.push_back(printed[1]);
  }
  start_writer(folder, sources, ends);
  std::vector<int> reports;
  for (int rank = 0; rank < ranks; ++rank) {
    reports.push_back(start_rank(folder, rank, ends[static_cast<std::size_t>(rank)], argv + 3));
    close(ends[static_cast<std::size_t>(rank)]);
  }
  char failed = 0;
  for (const int report : reports) must(read(report, &failed, 1) == 0, "exec");
  for (int rank = 0; rank < ranks; ++rank) {
    replace_file(folder, text("rank-%d.env", rank).c_str(), kEnvironmentBytes);
  }
  replace_file(folder, "state.json", kStateBytes);
  bool well = true;
  for (int status = 0; wait(&status) > 0;) well = well && status == 0;
  return well ? 0 : 1;
}

int stop_floor(int argc, char** argv) {
  if (argc < 3) return 2;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const int folder = make_folder(argv[1]);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execv(argv[2], argv + 2);
    _exit(127);
  }
  replace_file(folder, "state.json", kStateBytes);
  for (;;) {
    siginfo_t received{};
    if (sigwaitinfo(&all, &received) == SIGTERM) kill(child, SIGTERM);
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) continue;
    replace_file(folder, "state.json", kStateBytes);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
}

}  // namespace bench
