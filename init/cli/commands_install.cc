// install: copies this program into a directory, for images that do not contain it. An init
// container whose image contains only trainit runs it. The job's container then starts with the
// copy.

#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr const char* kWhat = "installing trainit";

// Reads this program. Without /proc it uses the path of argv[0].
base::Result<std::string> own_program() {
  auto program = read_file("/proc/self/exe", kWhat);
  if (program) return program;
  const std::string started_by = program_invocation_name;
  return started_by.find('/') == std::string::npos ? program : read_file(started_by, kWhat);
}

}  // namespace

int install_command(Call& call) {
  const std::vector<std::string>& directories = call.options.operands;
  if (directories.size() != 1 || directories[0].empty()) {
    return complain({kWhat, "the command line",
                     directories.empty() ? "no directory" : "something else than one directory",
                     "give the directory to put it into: trainit install /opt/trainit"});
  }
  const std::string& directory = directories[0];
  const auto program = own_program();
  if (!program) return complain(program.error());
  if (auto made = sys::make_directories(directory, 0755); !made) return complain(made.error());
  const std::string place = directory + (directory.ends_with('/') ? "" : "/") + "trainit";
  if (auto written = sys::write_file_atomic(place, 0755, *program); !written) {
    return complain(written.error());
  }
  base::ShownLines lines;
  lines.add({place});
  return print(lines);
}

}  // namespace cli
