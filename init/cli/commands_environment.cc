// print-environment FD: what source_scripts lets its shell become. Not for people.

#include <charconv>

#include "init/cli/commands.h"
#include "init/sys/files.h"

namespace cli {

int environment_command(Arguments arguments, const envgen::Environ& env) {
  int fd = -1;
  if (arguments.size() == 1) {
    const std::string& text = arguments[0];
    std::from_chars(text.data(), text.data() + text.size(), fd);
  }
  if (fd < 0) return complain({"printing the environment", "", "no descriptor", ""});
  std::string bytes;
  for (const std::string& entry : env.entries()) bytes.append(entry).push_back('\0');
  const int error = write_to(fd, "E " + std::to_string(bytes.size()) + "\n" + bytes);
  if (error == 0) return 0;
  return complain(
      {"printing the environment", "descriptor " + std::to_string(fd), sys::errno_text(error), ""});
}

}  // namespace cli
