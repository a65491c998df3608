// print-environment FD: what source_scripts lets its shell become. Not for people.

#include "base/text.h"
#include "init/cli/commands.h"
#include "init/sys/files.h"

namespace cli {

int environment_command(Call& call) {
  const std::vector<std::string>& words = call.options.operands;
  const auto fd = words.size() == 1 ? envgen::parse_count<int>(words[0]) : std::nullopt;
  if (!fd) return complain({"printing the environment", "", "no descriptor", ""});
  std::string bytes;
  for (const std::string& entry : call.env.entries()) bytes.append(entry).push_back('\0');
  bytes.insert(0, "E " + std::to_string(bytes.size()) + "\n");
  if (sys::write_all(*fd, bytes) == bytes.size()) return 0;
  return complain({"printing the environment", "descriptor " + std::to_string(*fd),
                   sys::errno_text(errno), ""});
}

}  // namespace cli
