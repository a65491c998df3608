// Rows of exec, exit codes and the command line.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/behaviour/rows.h"

namespace behaviour {
namespace {

std::string joined_codes(const Init& init, const std::vector<Words>& commands,
                         const char* separator) {
  std::string text;
  for (const Words& command : commands) {
    if (!text.empty()) text += separator;
    text += code_of(command_line(init, command));
  }
  return text;
}

}  // namespace

std::string failed_exec_codes(const Init& init) {
  std::ofstream("text") << "exit 5\n";
  ::chmod("text", 0755);
  ::mkdir("directory", 0755);
  return joined_codes(init, {{"./absent"}, {"./directory"}, {"./text"}}, "/");
}

std::string exit_codes(const Init& init) {
  std::vector<Words> commands;
  for (const char* code : {"0", "1", "42", "255"}) commands.push_back(payload({"exit", code}));
  return joined_codes(init, commands, ",");
}

std::string signal_codes(const Init& init) {
  std::vector<Words> commands;
  for (const char* signal : {"15", "9", "11", "6", "35"}) {
    commands.push_back(payload({"kill-self", signal}));
  }
  return joined_codes(init, commands, ",");
}

std::string options_after_the_command(const Init& init) {
  Words line = {init.program};
  line.insert(line.end(), init.options.begin(), init.options.end());
  line.insert(line.end(), {"sh", "-c", "exit 3", "-x"});
  return code_of(line);
}

std::string nested(const Init& init) {
  Words command = payload({"exit", "11"});
  for (int level = 0; level < 3; ++level) command = command_line(init, command);
  return code_of(command);
}

// A user of its own, as the limit counts all processes of the user.
std::string refused_fork(const Init& init) {
  constexpr int kFirstUser = 100'000;
  Setup setup;
  setup.before = [user = static_cast<uid_t>(kFirstUser + ::getpid())] {
    const rlimit one{1, 1};
    ::setrlimit(RLIMIT_NPROC, &one);
    if (::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(1);
  };
  return code_of(command_line(init, payload({"exit", "0"})), setup);
}

std::string without_command(const Init& init) {
  Words line = {init.program};
  line.insert(line.end(), init.options.begin(), init.options.end());
  return code_of(line);
}

}  // namespace behaviour
