#include "tests/bench/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace bench {
namespace {

constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kHome = "HOME=/root";

std::string quoted(const Words& argv) {
  std::string line;
  for (const std::string& word : argv) line += word + " ";
  return line;
}

void become_first_process() {
  const bool mounted = mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       mount("proc", "/proc", "proc", 0, nullptr) == 0 &&
                       mount("tmpfs", "/run", "tmpfs", 0, nullptr) == 0;
  if (!mounted) _exit(126);
  setsid();
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void fail(const std::string& what) {
  fprintf(stderr, "bench: FAILED: %s\n", what.c_str());
  exit(1);
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) fail("no measurement to take the median of");
  std::ranges::sort(values);
  const auto index = static_cast<std::size_t>(static_cast<double>(values.size()) * part);
  return values[std::min(index, values.size() - 1)];
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

std::string with_spread(const std::vector<double>& values, const std::vector<double>& base) {
  constexpr std::size_t kBlocks = 10;
  double low = 1e9;
  double high = 0;
  const std::size_t size = values.size() / kBlocks;
  for (std::size_t block = 0; size > 0 && block < kBlocks; ++block) {
    const auto from = static_cast<std::ptrdiff_t>(block * size);
    const auto to = from + static_cast<std::ptrdiff_t>(size);
    const double now = median({values.begin() + from, values.begin() + to}) /
                       median({base.begin() + from, base.begin() + to});
    low = std::min(low, now);
    high = std::max(high, now);
  }
  return text("%.2f (%.2f-%.2f)", median(values) / median(base), low, high);
}

std::vector<std::size_t> shuffled(std::size_t count) {
  static std::mt19937 random(1);  // NOLINT: the same orders in each run
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  return order;
}

std::string text(const char* format, ...) {
  std::array<char, 512> line{};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  return line.data();
}

std::string read_text(const std::string& path) {
  std::string content;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return content;
  std::array<char, 4096> part{};
  for (ssize_t bytes; (bytes = read(fd, part.data(), part.size())) > 0;) {
    content.append(part.data(), static_cast<std::size_t>(bytes));
  }
  close(fd);
  return content;
}

Command::Command(Words words, Words variables)
    : words_(std::move(words)), variables_(std::move(variables)) {
  for (std::string& word : words_) argv_.push_back(word.data());
  argv_.push_back(nullptr);
  variables_.insert(variables_.end(), {kPath, kHome});
  for (std::string& variable : variables_) environment_.push_back(variable.data());
  environment_.push_back(nullptr);
}

void Command::execute() const {
  execve(path(), argv(), environment_.data());
  _exit(127);
}

pid_t start(const Command& command, How how) {
  const pid_t parent = getpid();
  const unsigned long flags = how.place == Place::kPid1 ? CLONE_NEWPID | CLONE_NEWNS : 0;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
  if (child < 0) fail("clone (as PID 1 it needs root)");
  if (child > 0) return child;
  // Whoever interrupts the run leaves no init behind.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (how.place == Place::kPid1) {
    become_first_process();
  } else if (getppid() != parent) {
    _exit(126);
  }
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(how.in, STDIN_FILENO);
  dup2(how.out < 0 ? null : how.out, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  if (how.stop_at_exec) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  command.execute();
}

void wait_for_stop(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) fail("no stop at an exec");
}

void let_run(pid_t child) { ptrace(PTRACE_DETACH, child, nullptr, nullptr); }

pid_t start_fast(const Command& command, int out) {
  const pid_t child = vfork();  // NOLINT(bugprone-unsafe-functions): what is timed is the exec
  if (child != 0) return child;
  if (out >= 0) dup2(out, STDOUT_FILENO);
  command.execute();
}

int finish(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void kill_and_finish(pid_t child) {
  kill(child, SIGKILL);
  finish(child);
}

void execute(const Words& argv) {
  const Command command(argv);
  execvp(command.path(), command.argv());
  perror(command.path());
  _exit(127);
}

pid_t start_saying(const Words& argv, const std::string& said) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int fd = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execute(argv);
}

Run measure(const Words& argv, const std::string& said) {
  const std::int64_t begin = now_ns();
  const pid_t child = start_saying(argv, said);
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) fail("wait4");
  const std::int64_t end = now_ns();
  if (status != 0) fail(quoted(argv) + "did not end well; it said: " + read_text(said));
  const auto ms_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return {.wall_ms = static_cast<double>(end - begin) / 1e6,
          .peak_mb = static_cast<double>(usage.ru_maxrss) / 1024,
          .cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime)};
}

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  read_fd = ends[0];
  write_fd = ends[1];
}

Pipe::~Pipe() {
  close(read_fd);
  close_write();
}

void Pipe::close_write() {
  if (write_fd >= 0) close(write_fd);
  write_fd = -1;
}

bool Pipe::read_stamp(std::int64_t* stamp, int timeout_ms) const {
  pollfd waiting{read_fd, POLLIN, 0};
  if (poll(&waiting, 1, timeout_ms) != 1) return false;
  return read(read_fd, stamp, sizeof *stamp) == sizeof *stamp;
}

void Table::print() const {
  std::vector<std::size_t> widths(rows_[0].size());
  for (const Words& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t line = 0; line < rows_.size(); ++line) {
    const Words& row = rows_[line];
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = i < row.size() ? row[i] : "";
      printf(i == 0 ? "| %-*s |" : " %*s |", static_cast<int>(widths[i]), cell.c_str());
    }
    puts("");
    for (std::size_t i = 0; line == 0 && i < widths.size(); ++i) {
      printf("%s %s%s |", i == 0 ? "|" : "", std::string(widths[i] - 1, '-').c_str(),
             i == 0 ? "-" : ":");
    }
    if (line == 0) puts("");
  }
  puts("");
  fflush(stdout);
}

}  // namespace bench
