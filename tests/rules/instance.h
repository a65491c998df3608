#pragma once
// trainit as a process of its own: PID 1 of a new pid namespace with its own /proc, or an ordinary
// child. Its stdout and stderr are pipes, by which tests wait for what happens.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"
#include "tests/rules/isolation.h"
#include "tests/test_timeout.h"

namespace rules {

using Words = std::vector<std::string>;

// Ends the test as a skipped one. GTEST_SKIP only ends the function that it stands in.
[[noreturn]] void skip(const char* why);

struct Spec {
  Words args;  // of trainit
  Words env;   // complete
  bool pid1 = true;
  std::function<void()> before = {};  // in the new process, last before exec
  std::string program = {};           // instead of trainit; args has its argv[0] then
};

class Instance {
 public:
  // Skips the test if `spec` asks for PID 1 and this process may not make pid namespaces.
  explicit Instance(const Spec& spec);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  // As seen from here.
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // It has not ended; a loop that waits for something else asks this too.
  [[nodiscard]] bool alive() const;
  // Blocks until stdout (stderr) contains `text`. Returns false, and fails the test, if the process
  // ended or after three minutes.
  bool await_out(std::string_view text) { return await(out_, text); }
  bool await_err(std::string_view text) { return await(err_, text); }
  // Blocks until stdout or stderr has more, or the process ended. Returns false after three
  // minutes.
  bool await_more();
  // Blocks until the process has ended. Returns its exit code, 128 + n for a signal. After three
  // minutes kills the process and fails the test.
  int wait();

  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }
  // Lines of stderr that contain `text`.
  [[nodiscard]] int lines_with(std::string_view text) const;
  // The milliseconds since its start.
  [[nodiscard]] std::int64_t age_ms() const;
  // "VmHWM" of /proc/<pid>/status, in kB.
  [[nodiscard]] long status_kb(std::string_view field) const;
  // The only child of it, as soon as there is no other; throws where there is not one.
  [[nodiscard]] pid_t only_child() const;

 private:
  bool await(const std::string& stream, std::string_view text);
  // Reads what is there, waiting for it, or for the end. False at the time-out.
  bool read_more(TestTimeout& timeout);
  void drain();

  pid_t pid_ = -1;
  sys::Fd out_end_;
  sys::Fd err_end_;
  std::string out_;
  std::string err_;
  std::optional<int> code_;
  std::int64_t started_ms_;
};

// One that runs to its end.
struct Result {
  int code = -1;
  std::string out;
  std::string err;
};
Result run(const Spec& spec);

}  // namespace rules
