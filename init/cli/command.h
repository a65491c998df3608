#pragma once
// The table of subcommands: their names, arguments and functions. The command line, help, the
// manual page and completion read it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/cli/invocation.h"
#include "init/cli/options.h"

namespace cli {

// The command line after the name of its command.
struct Call {
  Arguments arguments;
  const base::Environ& env;
  Options options;  // read from both
};

// The result of take_options() about the image.
struct ImageTrust {
  bool untrusted = false;
  std::vector<std::string> lines;  // messages for the log
};
// Parses a command line that a user typed, as parse_options() does. With --untrusted-image the
// process first becomes the job's user, and reads variables only afterwards. Variables for --user,
// --caps and --ambient are then ignored, because an image adds its own variables to those of the
// platform.
base::Result<Options> take_options(Arguments arguments, const base::Environ& env, Commands command,
                                   ImageTrust& trust);

struct Command {
  std::string_view name = {};  // "copy"; "cache ls"
  Commands bit = 0;
  std::string_view arguments = {};  // "[OPTIONS] SRC DST"
  std::string_view help = {};       // one line; "" hides the command from help
  std::string_view about = {};      // the rest of the command's --help, one paragraph per line
  std::string_view examples = {};   // one per line
  int (*run)(Call& call) = nullptr;
  bool operands = false;            // takes arguments that are no options
  std::string (*more)() = nullptr;  // the end of the command's --help
};
std::span<const Command> command_table();
// Returns "cache" of "cache ls".
std::string_view first_word(const Command& command);
// Returns "ls" of "cache ls", or "" if the name has one word.
std::string_view second_word(const Command& command);
// Returns the first words of the commands that help shows, each once.
std::vector<std::string_view> command_words();

}  // namespace cli
