#pragma once
// The command line: one table of options. Each option but those that only make sense on a command
// line (--help, --json) has a variable TRAINIT_<OPTION>; a flag beats the variable. Parsing is a
// function of its arguments and prints nothing.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/request.h"
#include "init/sys/log.h"

namespace cli {

// An option that was given, and how strongly: a variable 0, a flag 1, a flag on top of those of a
// snapshot 2.
struct Given {
  std::string_view name;  // "grace"
  std::string where;      // "--grace" or "TRAINIT_GRACE"
  std::string value;
  int layer = 0;
};

struct Options {
  envgen::Request request;  // its command is what follows the options
  std::string run_dir;
  std::string snapshot;  // plan: a file to replay
  std::optional<int> parent_death_signal;
  bool json = false;
  bool help = false;
  bool version = false;
  bool watch = false;
  sys::log::Level log_level = sys::log::Level::kInfo;
  sys::log::Format log_format = sys::log::Format::kHuman;
  std::vector<Given> given;  // in that order; of two of the same name the last counts
  int layers = 0;
};

struct Option {
  std::string_view name;   // "grace" for --grace and TRAINIT_GRACE
  std::string_view value;  // what it takes, "DURATION"; "" = a switch
  std::string_view help;
  bool (*set)(Options& options, std::string_view value);
  std::string_view accepts;  // what a value looks like, for errors
  std::string (*wrong)(std::string_view value) =
      nullptr;  // with one that is refused, if it can say
};
std::span<const Option> option_table();

// "grace" -> "TRAINIT_GRACE".
std::string variable_name(const Option& option);
// Whether that variable is read. One that is not belongs to the image (TRAINIT_VERSION, say).
bool has_variable(const Option& option);

// Options end at "--" or at the first argument that is none; what follows is the command, as it
// stands. Variables of `env` first, then the arguments.
envgen::Result<Options> parse_options(std::span<const std::string> arguments,
                                      const envgen::Environ& env);
// The same on top of `options`; a command replaces the one that is there.
envgen::Status parse_arguments(std::span<const std::string> arguments, Options& options);

// Options that contradict each other are errors, if both were given alike. A flag is not spoiled by
// the default of an image or a platform: a variable that it leaves without a meaning is dropped.
// Only for who runs or plans a job: `trainit status` sees the variables without run's flags. `env`:
// as parse_options had it; the grace depends on it.
envgen::Status check_options(Options& options, const envgen::Environ& env);

// One line an option, for --help.
std::string option_help();

}  // namespace cli
