#include "tests/rules/shell.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "init/sys/clock.h"

namespace rules {
namespace {

[[noreturn]] void become(const Words& argv, const Words& env) {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& entry : env) environment.push_back(const_cast<char*>(entry.c_str()));
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Whoever runs the tests may ignore some, or have them blocked.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  sys::close_descriptors(3, {});
  ::execve(arguments[0], arguments.data(), environment.data());
  ::_exit(99);
}

}  // namespace

Screen::Screen(const Words& argv, const Words& env, unsigned short columns) {
  int keyboard = -1;
  const winsize size{50, columns, 0, 0};
  pid_ = ::forkpty(&keyboard, nullptr, nullptr, &size);
  if (pid_ == 0) become(argv, env);
  EXPECT_GT(pid_, 0);
  keyboard_.reset(keyboard);
}

Screen::~Screen() {
  keyboard_.reset();  // a hang-up
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Screen::type(std::string_view keys) const {
  EXPECT_EQ(::write(keyboard_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool Screen::read_more(TestTimeout& timeout) {
  pollfd ready{keyboard_.get(), POLLIN, 0};
  int count_ready = 0;
  while (count_ready == 0) {
    if (!timeout.is_left()) return false;
    count_ready = ::poll(&ready, 1, TestTimeout::kLookMs);
  }
  if (count_ready < 0) return false;
  std::array<char, 4096> part;
  const ssize_t count = ::read(keyboard_.get(), part.data(), part.size());
  if (count <= 0) return false;  // EIO: nobody has the terminal any more
  shown_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

bool Screen::await(std::string_view text) {
  TestTimeout timeout;
  std::size_t at = 0;
  while ((at = shown_.find(text, seen_)) == std::string::npos) {
    if (!read_more(timeout)) {
      ADD_FAILURE() << "no \"" << text << "\" came; the screen shows:\n" << shown_;
      return false;
    }
  }
  seen_ = at + text.size();
  return true;
}

pid_t Screen::foreground() const { return ::tcgetpgrp(keyboard_.get()); }

int Screen::wait() {
  TestTimeout timeout;
  while (read_more(timeout)) {
  }
  if (!timeout.is_left()) {
    ADD_FAILURE() << "it did not end; the screen shows:\n" << shown_;
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Shell::Shell()
    : screen_({"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"},
              {"PATH=/usr/bin:/bin", "TERM=dumb", "PS1=ready> ", "HISTFILE=", "T=" + trainit()}) {
  await("ready> ");
}

void Shell::suspend() {
  press(kSuspend);
  await("Stopped");
  await("ready> ");
}

void Shell::await_job(std::string_view program) const {
  TestTimeout timeout;
  auto name = [this] {
    std::ifstream file("/proc/" + std::to_string(screen_.foreground()) + "/comm");
    std::string text;
    std::getline(file, text);
    return text;
  };
  while (name() != program) {
    ASSERT_TRUE(timeout.is_left());
    ::sched_yield();
  }
}

void Shell::await_foreground(pid_t pid) const {
  TestTimeout timeout;
  while (screen_.foreground() == screen_.pid() || state_of(pid) == 'T') {
    ASSERT_TRUE(timeout.is_left());
    ::sched_yield();
  }
}

std::string Shell::text_behind(std::string_view mark) const {
  const std::size_t at = screen_.shown().rfind(mark);
  return at == std::string::npos ? "" : screen_.shown().substr(at + mark.size());
}

int Shell::code() {
  const std::string question = std::to_string(++questions_);
  enter("echo code-$?-$((" + question + "*7))-");
  await("code-");
  const std::string end = "-" + std::to_string(questions_ * 7) + "-\r";
  if (!await(end)) return -1;
  const std::string& text = screen_.shown();
  const std::size_t at = text.rfind(end);
  const std::size_t begin = text.rfind("code-", at) + 5;
  return std::stoi(text.substr(begin, at - begin));
}

void Shell::leave() {
  enter("jobs -l; exec echo left-$((1+1))");
  await("left-2");
  screen_.wait();
}

int Shell::shown(std::string_view text) const {
  int count = 0;
  const std::string& all = screen_.shown();
  for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
    ++count;
  }
  return count;
}

char state_of(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);  // which does not throw when the process goes meanwhile
  const std::size_t end_of_name = text.rfind(')');
  return end_of_name == std::string::npos ? '?' : text[end_of_name + 2];
}

}  // namespace rules
