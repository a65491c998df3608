#include "tests/behaviour/contained.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "init/sys/clock.h"
#include "tests/rules/isolation.h"

namespace behaviour {
namespace {

struct Pipe {
  sys::Fd out;
  sys::Fd in;
};

Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {sys::Fd(ends[0]), sys::Fd(ends[1])};
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// By the calls themselves, as glibc keeps 32 and 33 for itself.
void refresh_signals() {
  constexpr int kSignals = 64;
  constexpr std::array<std::uint64_t, 4> kDefault{};
  for (int signal = 1; signal <= kSignals; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, kDefault.data(), nullptr, sizeof(std::uint64_t));
  }
  constexpr std::uint64_t kNone = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kNone, nullptr, sizeof kNone);
}

void set_stdio(int out, const Terminal* terminal) {
  if (terminal != nullptr) {
    ::ioctl(terminal->slave.get(), TIOCSCTTY, 0);
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(terminal->slave.get(), fd);
    return;
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  // Nothing that an init says of itself is an answer; BEHAVIOUR_STDERR=1 shows it.
  if (std::getenv("BEHAVIOUR_STDERR") == nullptr) ::dup2(null, STDERR_FILENO);
}

[[noreturn]] void become(const Words& argv, const Setup& setup, int out) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  set_stdio(out, setup.terminal);
  std::array<char, 4096> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) ::_exit(rules::kCannotStart);
  Words env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
               "TRAINIT_RUN_DIR=" + std::string(here.data()) + "/run"};
  env.insert(env.end(), setup.env.begin(), setup.env.end());
  std::vector<char*> arguments = pointers(argv);
  std::vector<char*> variables = pointers(env);
  // What the measuring program holds is nothing that a caller passes on.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (setup.fresh_signals) refresh_signals();
  if (setup.before) setup.before();
  ::execve(arguments[0], arguments.data(), variables.data());
  ::_exit(rules::kCannotStart);
}

int code_of_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// PID 1 above an init that is not: reaps all, writes that one's exit code, stays.
[[noreturn]] void keep(const Words& argv, const Setup& setup, int out, int codes) {
  ::setsid();
  const pid_t init = ::fork();
  if (init == 0) {
    if (setup.terminal != nullptr) {
      ::setsid();
    } else {
      ::setpgid(0, 0);
    }
    become(argv, setup, out);
  }
  const char started = 's';
  if (::write(codes, &started, 1) != 1) ::_exit(1);
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0) ::pause();
    const int code = code_of_status(status);
    if (ended == init && ::write(codes, &code, sizeof code) != sizeof code) ::_exit(1);
  }
}

}  // namespace

Terminal::Terminal() : master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  std::array<char, 64> name{};
  const bool there = ::grantpt(master.get()) == 0 && ::unlockpt(master.get()) == 0 &&
                     ::ptsname_r(master.get(), name.data(), name.size()) == 0;
  if (!there) std::abort();
  slave.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
}

void Terminal::type(std::string_view text) const {
  if (::write(master.get(), text.data(), text.size()) < 0) std::abort();
}

Contained::Contained(const Words& argv, const Setup& setup) : pid1_(setup.pid1) {
  Pipe out = make_pipe();
  Pipe exec = make_pipe();
  Pipe codes = make_pipe();
  outer_ = rules::clone_into(CLONE_NEWPID | CLONE_NEWNS);
  if (outer_ < 0) return;
  if (outer_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    rules::mount_own_proc();
    if (!pid1_) keep(argv, setup, out.in.get(), codes.in.get());
    ::setsid();
    become(argv, setup, out.in.get());
  }
  out_end_ = std::move(out.out);
  if (setup.terminal != nullptr) {
    out_end_.reset(::fcntl(setup.terminal->master.get(), F_DUPFD_CLOEXEC, 0));
  }
  exec_end_ = std::move(exec.out);
  if (pid1_) {
    init_ = outer_;
    end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, outer_, 0)));
    return;
  }
  codes.in.reset();
  char started = 0;
  if (::read(codes.out.get(), &started, 1) != 1) return;
  // The first that it made; an init that has ended at once may have left orphans to it.
  const std::vector<pid_t> children = rules::children_of(outer_);
  if (!children.empty()) init_ = children.front();
  end_ = std::move(codes.out);
}

Contained::~Contained() {
  if (outer_ <= 0 || (pid1_ && code_)) return;
  ::kill(outer_, SIGKILL);
  ::waitpid(outer_, nullptr, 0);
}

pid_t Contained::child() const {
  const std::vector<pid_t> children = rules::children_of(init_);
  return children.size() == 1 ? children.front() : -1;
}

void Contained::signal(int number) const {
  if (init_ > 0 && !code_) ::kill(init_, number);
}

void Contained::queue(int number, int value) const {
  sigval payload{};
  payload.sival_int = value;
  if (init_ > 0 && !code_) ::sigqueue(init_, number, payload);
}

void Contained::await_exec() {
  pollfd closed{exec_end_.get(), POLLIN, 0};
  ::poll(&closed, 1, static_cast<int>(kPatienceMs));
}

void Contained::take_end() {
  ended_us_ = monotonic_us();
  int status = 0;
  if (pid1_) {
    ::waitpid(outer_, &status, 0);
    code_ = code_of_status(status);
  } else {
    code_ = ::read(end_.get(), &status, sizeof status) == sizeof status ? status : -1;
  }
  end_.reset();
}

bool Contained::read_more(std::int64_t deadline_ms) {
  std::array<pollfd, 2> sources{{{out_end_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
  const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - sys::monotonic_ms(), 0);
  if (::poll(sources.data(), sources.size(), static_cast<int>(left_ms)) <= 0) return false;
  if ((sources[0].revents & POLLIN) != 0) {
    std::array<char, 65536> part;
    const ssize_t count = ::read(out_end_.get(), part.data(), part.size());
    if (count > 0) out_.append(part.data(), static_cast<std::size_t>(count));
    return true;
  }
  if (sources[0].revents != 0) out_end_.reset();
  if (sources[1].revents != 0) take_end();
  return true;
}

bool Contained::await(std::string_view text, std::int64_t limit_ms) {
  return await_until(text, limit_ms).has_value();
}

std::optional<std::string> Contained::await_until(std::string_view text, std::int64_t limit_ms) {
  const std::int64_t deadline = sys::monotonic_ms() + limit_ms;
  std::size_t at = std::string::npos;
  while ((at = out_.find(text, seen_)) == std::string::npos) {
    if ((code_ && pid1_) || !read_more(deadline)) return std::nullopt;
  }
  const std::size_t from = std::exchange(seen_, at + text.size());
  return out_.substr(from, at - from);
}

std::string Contained::rest_of_line() { return await_until("\n").value_or("(no line)"); }

std::optional<int> Contained::wait(std::int64_t limit_ms) {
  const std::int64_t deadline = sys::monotonic_ms() + limit_ms;
  while (!code_ && read_more(deadline)) {
  }
  return code_;
}

std::int64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000;
}

std::string code_of(const Words& argv, const Setup& setup) {
  Contained init(argv, setup);
  const std::optional<int> code = init.wait();
  return code ? std::to_string(*code) : "timeout";
}

}  // namespace behaviour
