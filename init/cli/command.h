#pragma once
// A subcommand as data, and the table of all of them: what they are called, take and do, for the
// command line, help, the manual page and completion.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "init/cli/invocation.h"
#include "init/cli/options.h"

namespace cli {

// A command line behind the name of its command.
struct Call {
  Arguments arguments;
  const envgen::Environ& env;
  Options options;  // of both
};

// The result of take_options() about the image.
struct ImageTrust {
  bool untrusted = false;
  std::vector<std::string> lines;  // for the log
};
// Parses a command line that a user typed, as parse_options() does. With --untrusted-image the
// process becomes the job's user before a variable is read. Variables of --user, --caps and
// --ambient are ignored then, because an image adds its own variables to the platform's.
envgen::Result<Options> take_options(Arguments arguments, const envgen::Environ& env,
                                     Commands command, ImageTrust& trust);

struct Command {
  std::string_view name = {};  // "copy"; "cache ls"
  Commands bit = 0;
  std::string_view arguments = {};  // "[OPTIONS] SRC DST"
  std::string_view help = {};       // on one line; "" = not for people
  std::string_view about = {};      // the rest of its own --help, a paragraph a line
  std::string_view examples = {};   // one a line
  int (*run)(Call& call) = nullptr;
  bool operands = false;            // takes words that are no options
  std::string (*more)() = nullptr;  // the end of its own --help
};
std::span<const Command> command_table();
// "cache" of "cache ls".
std::string_view first_word(const Command& command);
// "ls" of "cache ls"; "".
std::string_view second_word(const Command& command);
// The first words of those for people, each once.
std::vector<std::string_view> command_words();

}  // namespace cli
