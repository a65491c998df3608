#include "tests/rules/instance.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>

#include "init/sys/clock.h"

namespace rules {
namespace {

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

// What the test program was started with (ctest's) is nothing that the caller passes on.
void close_at_exec() {
  for (const int fd : sys::open_descriptors(3)) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// While there is one, a child's end interrupts wait(), also when it came just before. Linux 4.19
// has no descriptor of a process; a signalfd would need SIGCHLD blocked all the time, and in all
// that a test forks.
class ChildWatch {
 public:
  ChildWatch() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, &mask_);
    struct sigaction interrupt{};
    interrupt.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &interrupt, &action_);
  }
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;
  ~ChildWatch() {
    ::sigaction(SIGCHLD, &action_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

  // As poll. -1 with EINTR: look at your children.
  int wait(std::span<pollfd> sources, std::int64_t timeout_ms) const {
    const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
    sigset_t open = mask_;
    ::sigdelset(&open, SIGCHLD);
    return ::ppoll(sources.data(), sources.size(), &timeout, &open);
  }

 private:
  sigset_t mask_{};
  struct sigaction action_{};
};

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
  close_at_exec();
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

void skip(const char* why) {
  [why] { GTEST_SKIP() << why; }();
  using Part = testing::TestPartResult;
  throw testing::AssertionException(Part(Part::kSkip, __FILE__, __LINE__, why));
}

Instance::Instance(const Spec& spec) : started_ms_(sys::monotonic_ms()) {
  if (spec.pid1 && !may_unshare()) skip("may not make pid namespaces and mount");
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  const std::string path = spec.program.empty() ? trainit() : spec.program;
  pid_ = clone_into(spec.pid1 ? CLONE_NEWPID | CLONE_NEWNS : 0);
  if (pid_ == 0) become(spec, path, out.in.get(), err.in.get());
  EXPECT_GT(pid_, 0) << std::strerror(errno);
  out_end_ = std::move(out.out);
  err_end_ = std::move(err.out);
}

Instance::~Instance() {
  if (code_ || pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Instance::signal(int number) const {
  // -1 would be every process of the machine.
  ASSERT_GT(pid_, 0) << "it was not started";
  EXPECT_EQ(::kill(pid_, number), 0);
}

bool Instance::alive() const {
  if (code_) return false;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

bool Instance::read_more(TestTimeout& timeout) {
  const ChildWatch watch;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    drain();
    return true;
  }
  std::array<pollfd, 2> sources{{{out_end_.get(), POLLIN, 0}, {err_end_.get(), POLLIN, 0}}};
  int ready = 0;
  while (ready == 0) {
    if (!timeout.is_left()) return false;
    ready = watch.wait(sources, TestTimeout::kLookMs);
  }
  if (ready < 0) return errno == EINTR;
  if (sources[0].revents != 0) take(out_end_.get(), out_);
  if (sources[1].revents != 0) take(err_end_.get(), err_);
  // A pipe at its end would be ready for ever.
  if ((sources[0].revents & POLLIN) == 0 && (sources[0].revents & POLLHUP) != 0) out_end_.reset();
  if ((sources[1].revents & POLLIN) == 0 && (sources[1].revents & POLLHUP) != 0) err_end_.reset();
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
  TestTimeout timeout;
  while (stream.find(text) == std::string::npos) {
    if (code_ || !read_more(timeout)) {
      ADD_FAILURE() << "no \"" << text << "\" came; stdout: " << out_ << "\nstderr: " << err_;
      return false;
    }
  }
  return true;
}

bool Instance::await_more() {
  TestTimeout timeout;
  return !code_ && read_more(timeout);
}

int Instance::wait() {
  TestTimeout timeout;
  while (!code_ && read_more(timeout)) {
  }
  if (code_) return *code_;
  ADD_FAILURE() << "it did not end; stdout: " << out_ << "\nstderr: " << err_;
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
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
  std::vector<pid_t> children = children_of(pid_);
  // A worker that has said all may be still about to end.
  TestTimeout timeout;
  while (children.size() != 1 && timeout.is_left()) {
    ::poll(nullptr, 0, 5);
    children = children_of(pid_);
  }
  // Never a pid that is none: kill(-1) means everybody on the machine.
  if (children.size() != 1) {
    throw std::runtime_error("it has " + std::to_string(children.size()) + " children, not one");
  }
  return children.front();
}

Result run(const Spec& spec) {
  Instance instance(spec);
  const int code = instance.wait();
  return {code, instance.out(), instance.err()};
}

}  // namespace rules
