#pragma once
// The rules by which platforms read the command line that a user typed there.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// Platforms execute the command without a shell: `KEY=VALUE cmd`, `a && b` and `a > log` are
// refused with the `bash -c` form to use. A line that starts with `export` becomes bash -c by
// itself, as ModelArts' third way to choose a conda environment needs it. A platform's text field
// that came as one argument is split at its blanks, unless only a shell can do that; it may name
// the variables in `filled`, which the platform fills in by expand_variables().
Result<std::vector<std::string>> without_shell_syntax(
    const std::vector<std::string>& command, std::string_view platform,
    std::span<const std::string_view> filled = {});

// How to give `line`, which only a shell understands: by `bash -c "..."`, or by --conda-env where
// it activates an environment, which that shell could not.
std::string advice_for_line(const std::string& line);

// $NAME and ${NAME} of the command, as far as `value` knows the name. What a shell inside of it
// will read (`bash -c TEXT`) is left to that.
struct ExpandedCommand {
  std::vector<std::string> command;
  std::vector<std::string> unknown;  // names that nobody fills in, each once
};
using VariableValue = std::function<std::optional<std::string>(std::string_view name)>;
ExpandedCommand expand_variables(const std::vector<std::string>& command,
                                 const VariableValue& value);

// A bare script ("train.py") gets `interpreter` in front. Unchanged otherwise.
std::vector<std::string> with_interpreter(const std::vector<std::string>& command,
                                          const std::string& interpreter);

// A text as the words of a command; one that is more than words goes to sh.
std::vector<std::string> command_of_line(std::string_view line);

// KEY=VALUE, as a shell sets a variable for one command. "./a=b" is a path.
bool is_assignment(std::string_view word);

// The value of the first of a launcher's `flags` ("--nnodes --num_nodes"), also in a shell's text:
// "--flag value" and "--flag=value", each with '-' for '_'. They stand between the launcher's name
// and its program (a script, -m, an interpreter), whose flags are its own. Without a name the
// command begins with them. `text` is part of the word; of a flag without a value the next word.
struct FlagValue {
  std::size_t word = 0;  // index of the word
  std::size_t at = 0;    // offset of the value
  std::string_view text;
};
std::optional<FlagValue> find_flag(const std::vector<std::string>& command,
                                   std::string_view launcher, std::string_view flags);

// The last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace envgen
