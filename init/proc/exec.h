#pragma once
// Executes a program as execvpe does, and says why that failed: which file was tried, and why the
// kernel refused it.

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace proc {

// Why a program did not start, and the exit code for that.
struct StartFailure {
  int exit_code = 0;  // 126: found, but cannot be run. 127: not found. 125: an error before the
                      // search
  base::Error error;
  // True if the search has found no file of this name. exit_code is then 126 if a directory of PATH
  // could not be searched, otherwise 127.
  bool name_missing = false;
};
// Replaces the advice of `failure` by `hint` if name_missing is true. Does nothing if `hint` is "".
void give_hint(StartFailure& failure, const std::string& hint);

// A program that is prepared before fork, so that the child allocates nothing. Keeps pointers into
// `argv` and `env`, which must outlive it.
class Program {
 public:
  // Finds the candidates for argv[0] by the rules of base/search_path.h, in the PATH of `env`.
  Program(const std::vector<std::string>& argv, const base::Environ& env);

  // Sets LISTEN_PID. Called in the child, because only the child knows its pid.
  void set_listen_pid(pid_t pid);

  [[nodiscard]] const std::vector<char*>& environment() const { return environment_; }

  // Executes the program; returns only on failure. Like execvp, it continues after a file that is
  // missing or may not be executed, and passes a text file without "#!" to /bin/sh. A file that
  // exists but lacks its interpreter or loader gives 126.
  StartFailure exec();
  // Returns what exec() would return for a file that is missing or may not be executed. Returns
  // nullopt if the program can probably be run.
  [[nodiscard]] std::optional<StartFailure> find_fault();

 private:
  int try_file(const std::string& path);
  StartFailure try_all(int (Program::*attempt)(const std::string&));
  int inspect_file(const std::string& path);

  std::vector<char*> arguments_;  // null-terminated
  std::vector<char*> shell_;  // "/bin/sh", a place for the script's path, the rest of arguments_
  std::vector<char*> environment_;          // null-terminated
  std::vector<std::string> files_;          // paths to try, in order
  std::optional<std::string> search_path_;  // nullopt: argv[0] has a '/', or is empty
  std::array<char, 32> listen_pid_{};
};

}  // namespace proc
