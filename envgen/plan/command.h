#pragma once
// Rules for the command line that a user typed into a platform's form or gave to trainit.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// Returns the words of a command that the platform executes without a shell. Shell syntax
// (`KEY=VALUE cmd`, `a && b`, `a > log`) is an error, which shows the `bash -c` form to use. There
// is one exception: a line that starts with `export` becomes a `bash -c` command, because
// ModelArts' third method to choose a conda environment needs that. If the platform passes its text
// field as one argument, the text is split at its blanks. A text that only a shell can split stays
// an error. The text may contain the variables in `filled`, which the platform replaces with
// expand_variables().
base::Result<std::vector<std::string>> without_shell_syntax(
    const std::vector<std::string>& command, std::string_view platform,
    std::span<const std::string_view> filled = {});

// Returns advice how to give `line`, which only a shell understands: with `bash -c "..."`. If the
// line activates a conda environment, which that shell could not do, the advice is --conda-env.
std::string advice_for_line(const std::string& line);

// A command in which $NAME and ${NAME} are replaced by values; `value` returns the value of a name.
// The text for a shell in the command (`bash -c TEXT`) is unchanged, because that shell replaces
// them.
struct ExpandedCommand {
  std::vector<std::string> command;
  std::vector<std::string> unknown;  // names that `value` does not know, each once
};
using VariableValue = std::function<std::optional<std::string>(std::string_view name)>;
ExpandedCommand expand_variables(const std::vector<std::string>& command,
                                 const VariableValue& value);

// If the first word of the command is a script ("train.py"), puts `interpreter` before it. Any
// other command is unchanged.
std::vector<std::string> with_interpreter(const std::vector<std::string>& command,
                                          const std::string& interpreter);

// Splits a text into the words of a command. A text that is more than plain words becomes
// `/bin/sh -c TEXT`.
std::vector<std::string> command_of_line(std::string_view line);

// Returns whether the word is KEY=VALUE, as a shell sets a variable for one command. "./a=b" is a
// path.
bool is_assignment(std::string_view word);

// Finds the value of the first of a launcher's `flags` ("--nnodes --num_nodes"), also within the
// text for a shell. Both "--flag value" and "--flag=value" are read, and a '-' can stand for each
// '_'. The flags must be between the launcher's name and its program (a script, -m, an
// interpreter); later flags belong to the program. If `launcher` is "", the command begins with the
// flags.
struct FlagValue {
  std::size_t word = 0;  // index in the command of the word that contains the value
  std::size_t at = 0;    // offset of the value in that word
  std::string_view text;
};
std::optional<FlagValue> find_flag(const std::vector<std::string>& command,
                                   std::string_view launcher, std::string_view flags);

// Returns the last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace envgen
