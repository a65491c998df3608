#pragma once
// One init under observation, in pid and mount namespaces of its own, with its own /proc: either as
// their PID 1 and a session leader, as a container engine starts it, or as the child of another
// PID 1 that only reaps, in a process group of its own, as a shell starts a job. Its end takes
// everything in there with it.
//
// Nothing here judges: what does not come within the time given is an answer too.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace behaviour {

using Words = std::vector<std::string>;

// For what must come; a machine may be busy.
inline constexpr std::int64_t kPatienceMs = 20'000;
// For what some inits never do: "NO" takes this long.
inline constexpr std::int64_t kDoubtMs = 2'000;

// A pseudo terminal: who types and reads has the one end, the processes have the other.
struct Terminal {
  sys::Fd master;
  sys::Fd slave;
  Terminal();
  void type(std::string_view text) const;
};

struct Setup {
  bool pid1 = true;
  bool fresh_signals = true;           // nothing blocked, nothing ignored
  std::function<void()> before = {};   // in the new process, last before exec
  const Terminal* terminal = nullptr;  // 0, 1, 2 and the controlling one, instead of a pipe
  Words env = {};                      // beside PATH and TRAINIT_RUN_DIR
};

class Contained {
 public:
  // argv[0] is the program's path. The working directory is the caller's.
  Contained(const Words& argv, const Setup& setup);
  Contained(const Contained&) = delete;
  Contained& operator=(const Contained&) = delete;
  ~Contained();

  // The init's pid as seen from here, -1 when it could not be started.
  [[nodiscard]] pid_t pid() const { return init_; }
  // Its only child; -1: none, or several.
  [[nodiscard]] pid_t child() const;
  void signal(int number) const;
  void queue(int number, int value) const;

  // Until exec has replaced the new process by the program.
  void await_exec();
  // Until stdout has had `text` after what earlier calls have found. False: it ended, or too late.
  // Of an init that is not PID 1 the processes may go on after its end.
  bool await(std::string_view text, std::int64_t limit_ms = kPatienceMs);
  // The same: what came before `text`.
  std::optional<std::string> await_until(std::string_view text,
                                         std::int64_t limit_ms = kPatienceMs);
  // The rest of the line whose beginning await() has found last.
  std::string rest_of_line();
  // Its exit code, 128 + n for a signal.
  std::optional<int> wait(std::int64_t limit_ms = kPatienceMs);
  // CLOCK_MONOTONIC at which its end was seen.
  [[nodiscard]] std::int64_t ended_us() const { return ended_us_; }

 private:
  bool read_more(std::int64_t deadline_ms);
  void take_end();

  pid_t outer_ = -1;  // PID 1 of the namespace
  pid_t init_ = -1;
  bool pid1_;
  sys::Fd end_;  // readable when the init has ended: a pidfd, or the exit code in a pipe
  sys::Fd out_end_;
  sys::Fd exec_end_;
  std::string out_;
  std::size_t seen_ = 0;
  std::optional<int> code_;
  std::int64_t ended_us_ = 0;
};

std::int64_t monotonic_us();

// The exit code of a run that ends by itself; "timeout" for one that does not.
std::string code_of(const Words& argv, const Setup& setup = {});

// --- What /proc says of a process ---

// R, S, D, T, Z; '-' when it is gone.
char state_of(pid_t pid);
// A field of /proc/<pid>/status as a number of base 16.
std::uint64_t signal_set_of(pid_t pid, std::string_view field);
// Until `holds`; false at the limit.
bool await_condition(const std::function<bool()>& holds, std::int64_t limit_ms = kPatienceMs);
// Until it has dealt with every signal that it was sent: it sleeps, and none is pending. True too
// when it stands still or is gone.
void await_quiet(pid_t pid);

}  // namespace behaviour
