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

// The last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace envgen
