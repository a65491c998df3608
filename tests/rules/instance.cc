#include "tests/rules/instance.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "init/proc/reap.h"
#include "init/sys/clock.h"

namespace rules {
namespace {

constexpr std::int64_t kPatienceMs = 60'000;
constexpr int kCannotStart = 99;

struct Pipe {
  sys::Fd out;
  sys::Fd in;
};

Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Pipe pipe;
  pipe.out.reset(ends[0]);
  pipe.in.reset(ends[1]);
  return pipe;
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// fork, into new namespaces.
pid_t clone_into(unsigned long flags) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

void mount_own_proc() {
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    ::_exit(kCannotStart);
  }
}

[[noreturn]] void become(const Spec& spec, const std::string& path, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (spec.pid1) mount_own_proc();
  Words words = spec.args;
  if (spec.program.empty()) words.insert(words.begin(), "trainit");
  std::vector<char*> argv = pointers(words);
  std::vector<char*> env = pointers(spec.env);
  // What the test program was started with (ctest's) is nothing that the caller passes on.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (spec.before) spec.before();
  ::execve(path.c_str(), argv.data(), env.data());
  ::_exit(kCannotStart);
}

void take(int fd, std::string& text) {
  std::array<char, 65536> part;
  const ssize_t count = ::read(fd, part.data(), part.size());
  if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
}

}  // namespace

Instance::Instance(const Spec& spec) : started_ms_(sys::monotonic_ms()) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  const std::string path = spec.program.empty() ? trainit() : spec.program;
  pid_ = clone_into(spec.pid1 ? CLONE_NEWPID | CLONE_NEWNS : 0);
  if (pid_ == 0) become(spec, path, out.in.get(), err.in.get());
  EXPECT_GT(pid_, 0) << std::strerror(errno);
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  EXPECT_TRUE(pidfd_.valid());
  out_end_ = std::move(out.out);
  err_end_ = std::move(err.out);
}

Instance::~Instance() {
  if (code_ || pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Instance::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

bool Instance::alive() const {
  if (code_) return false;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

bool Instance::read_more(std::int64_t deadline_ms) {
  std::array<pollfd, 3> sources{
      {{out_end_.get(), POLLIN, 0}, {err_end_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}}};
  const std::int64_t left = deadline_ms - sys::monotonic_ms();
  if (left <= 0 || ::poll(sources.data(), sources.size(), static_cast<int>(left)) <= 0)
    return false;
  if (sources[0].revents != 0) take(out_end_.get(), out_);
  if (sources[1].revents != 0) take(err_end_.get(), err_);
  // A pipe at its end would be ready for ever.
  if ((sources[0].revents & POLLIN) == 0 && (sources[0].revents & POLLHUP) != 0) out_end_.reset();
  if ((sources[1].revents & POLLIN) == 0 && (sources[1].revents & POLLHUP) != 0) err_end_.reset();
  if (sources[2].revents != 0 && !code_) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    pidfd_.reset();
    drain();
  }
  return true;
}

// What is in the pipes; a process that outlives the instance may still hold them.
void Instance::drain() {
  for (auto [fd, text] : {std::pair{&out_end_, &out_}, std::pair{&err_end_, &err_}}) {
    pollfd ready{fd->get(), POLLIN, 0};
    while (fd->valid() && ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) {
      take(fd->get(), *text);
    }
  }
}

bool Instance::await(const std::string& stream, std::string_view text) {
  const std::int64_t deadline = sys::monotonic_ms() + kPatienceMs;
  while (stream.find(text) == std::string::npos) {
    if (code_ || !read_more(deadline)) {
      ADD_FAILURE() << "no \"" << text << "\" came; stdout: " << out_ << "\nstderr: " << err_;
      return false;
    }
  }
  return true;
}

int Instance::wait() {
  const std::int64_t deadline = sys::monotonic_ms() + kPatienceMs;
  while (!code_ && read_more(deadline)) {
  }
  if (code_) return *code_;
  ADD_FAILURE() << "it did not end; stdout: " << out_ << "\nstderr: " << err_;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  code_ = -1;
  return -1;
}

int Instance::lines_with(std::string_view text) const {
  std::istringstream lines(err_);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) count += line.find(text) != std::string::npos ? 1 : 0;
  return count;
}

std::int64_t Instance::age_ms() const { return sys::monotonic_ms() - started_ms_; }

long Instance::status_kb(std::string_view field) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(std::string(field) + ":")) {
      return std::strtol(line.c_str() + field.size() + 1, nullptr, 10);
    }
  }
  ADD_FAILURE() << "no " << field;
  return -1;
}

pid_t Instance::only_child() const {
  pid_t child = -1;
  DIR* proc = ::opendir("/proc");
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    if (proc::parent_in_stat(text) != pid_) continue;
    EXPECT_EQ(child, -1) << "it has several children";
    child = pid;
  }
  ::closedir(proc);
  EXPECT_GT(child, 0) << "it has no child";
  return child;
}

Result run(const Spec& spec) {
  Instance instance(spec);
  const int code = instance.wait();
  return {code, instance.out(), instance.err()};
}

std::string program_of(const char* variable) {
  const char* path = std::getenv(variable);
  if (path != nullptr && ::access(path, X_OK) == 0) return path;
  std::fprintf(stderr, "%s names no program; ctest sets it\n", variable);
  std::exit(1);
}

void refuse_calls(const std::vector<long>& numbers, int error) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (long number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(kCannotStart);
}

bool may_unshare() {
  static const bool may = [] {
    const pid_t pid = clone_into(CLONE_NEWPID | CLONE_NEWNS);
    if (pid < 0) return false;
    if (pid == 0) {
      mount_own_proc();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return may;
}

}  // namespace rules
