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

// Returns the words of a command that the platform executes without a shell. Refuses shell syntax
// (`KEY=VALUE cmd`, `a && b`, `a > log`); the error shows the `bash -c` form to use. A line that
// starts with `export` becomes a `bash -c` command: ModelArts' third method to choose a conda
// environment needs that.
// If the platform passes its text field as one argument, the text is split at its blanks. The error
// remains for a text that only a shell can split. The text may name the variables in `filled`,
// which the platform replaces by expand_variables().
base::Result<std::vector<std::string>> without_shell_syntax(
    const std::vector<std::string>& command, std::string_view platform,
    std::span<const std::string_view> filled = {});

// Returns how the user must give `line`, which only a shell understands: with `bash -c "..."`. If
// the line activates a conda environment, which that shell could not do, the advice is --conda-env.
std::string advice_for_line(const std::string& line);

// A command with $NAME and ${NAME} replaced by values, where `value` knows the name. The text of a
// shell inside the command (`bash -c TEXT`) is unchanged, as that shell expands it.
struct ExpandedCommand {
  std::vector<std::string> command;
  std::vector<std::string> unknown;  // names without a value, each once
};
using VariableValue = std::function<std::optional<std::string>(std::string_view name)>;
ExpandedCommand expand_variables(const std::vector<std::string>& command,
                                 const VariableValue& value);

// Puts `interpreter` before a bare script ("train.py"). Any other command is unchanged.
std::vector<std::string> with_interpreter(const std::vector<std::string>& command,
                                          const std::string& interpreter);

// Splits a text into the words of a command. A text that is more than plain words becomes
// `/bin/sh -c TEXT`.
std::vector<std::string> command_of_line(std::string_view line);

// Returns whether the word is KEY=VALUE, as a shell sets a variable for one command. "./a=b" is a
// path.
bool is_assignment(std::string_view word);

// Finds the value of the first of a launcher's `flags` ("--nnodes --num_nodes"), also in a shell's
// text. Both "--flag value" and "--flag=value" are read, each with '-' for '_'. The flags are
// between the launcher's name and its program (a script, -m, an interpreter); flags after that
// belong to the program. If `launcher` is "", the command begins with the flags. `text` is a part
// of the word; for "--flag value" it is the next word.
struct FlagValue {
  std::size_t word = 0;  // index of the word
  std::size_t at = 0;    // offset of the value
  std::string_view text;
};
std::optional<FlagValue> find_flag(const std::vector<std::string>& command,
                                   std::string_view launcher, std::string_view flags);

// Returns the last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace envgen
