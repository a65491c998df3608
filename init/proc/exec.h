#pragma once
// execvpe with reasons: which file was tried, and what about it the kernel did not like.

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace proc {

// Why a program did not start, and the exit code that stands for it.
struct StartFailure {
  int exit_code = 0;  // 126: found, but cannot be run; 127: not found; 125: anything before that
  envgen::Error error;
};

// A program made ready before fork, so that the child has nothing left to allocate. Keeps pointers
// into `argv` and `env`, which must outlive it.
class Program {
 public:
  // argv[0] without '/' is looked up in the PATH of `env`, /bin:/usr/bin when it has none.
  Program(const std::vector<std::string>& argv, const envgen::Environ& env);

  // Sets LISTEN_PID, which can be known in the child only.
  void set_listen_pid(pid_t pid);

  [[nodiscard]] const std::vector<char*>& environment() const { return environment_; }

  // Returns only when it could not. As execvp does, it goes on after a file that is missing or may
  // not be executed, and gives a text file without "#!" to /bin/sh. A file that is there but lacks
  // its interpreter or loader is a 126.
  StartFailure exec();
  // What exec() would return for a file that is missing or may not be executed; nullopt when it
  // seems that it can be run.
  [[nodiscard]] std::optional<StartFailure> find_fault();

 private:
  int try_file(const std::string& path);
  StartFailure try_all(int (Program::*attempt)(const std::string&));
  int inspect_file(const std::string& path);

  std::vector<char*> arguments_;    // null-terminated
  std::vector<char*> shell_;        // "/bin/sh", a place for the path, the rest of arguments_
  std::vector<char*> environment_;  // null-terminated
  std::vector<std::string> files_;  // to try, in order
  std::string search_path_;         // "" when argv[0] has a '/'
  std::array<char, 32> listen_pid_{};
};

}  // namespace proc
