#pragma once
// A terminal with somebody at it: an interactive bash, or a program as its session's leader. What
// is typed goes in as keys, and what the screen shows is waited for.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "init/sys/fd.h"
#include "tests/rules/instance.h"

namespace rules {

inline constexpr std::string_view kInterrupt = "\x03";  // ^C
inline constexpr std::string_view kQuit = "\x1c";       // ^\.
inline constexpr std::string_view kSuspend = "\x1a";    // ^Z

class Screen {
 public:
  // `argv` leads a session on a terminal of its own.
  explicit Screen(const Words& argv, const Words& env = {"PATH=/usr/bin:/bin", "TERM=dumb"},
                  unsigned short columns = 500);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void type(std::string_view keys) const;
  // Until `text` appears behind what was waited for last. False, and a failure, after half a
  // minute.
  bool await(std::string_view text);
  // Until the program has ended: its exit code, 128 + n for a signal.
  int wait();
  // The process group that has its keys.
  [[nodiscard]] pid_t foreground() const;
  // All that it has shown.
  [[nodiscard]] const std::string& shown() const { return shown_; }

 private:
  bool read_more(TestTimeout& timeout);

  pid_t pid_ = -1;
  sys::Fd keyboard_;
  std::string shown_;
  std::size_t seen_ = 0;
};

// bash at its prompt, with $T for trainit. A line's own echo holds no text that is waited for:
// write $((1+1)) where 2 is to be seen.
class Shell : public testing::Test {
 protected:
  Shell();
  // Types a line.
  void enter(const std::string& line) { screen_.type(line + "\n"); }
  void press(std::string_view key) { screen_.type(key); }
  bool await(std::string_view text) { return screen_.await(text); }
  // The suspend key, and the prompt that it brings back.
  void suspend();
  // Until a job that is this program has the terminal.
  void await_job(std::string_view program) const;
  // Until this process runs and its terminal is not the shell's.
  void await_foreground(pid_t pid) const;
  // What stands behind the last `mark`.
  [[nodiscard]] std::string text_behind(std::string_view mark) const;
  // The shell answers, and says the exit code of what ran last.
  int code();
  // Nothing is left of the job and the shell ends by itself.
  void leave();
  [[nodiscard]] int shown(std::string_view text) const;

 private:
  Screen screen_;
  int questions_ = 0;
};

// The state of a process: 'S' sleeping, 'T' stopped.
char state_of(pid_t pid);

}  // namespace rules
