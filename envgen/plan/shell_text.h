#pragma once
// A shell's command line and text, parsed as far as words, quotes and operators show which programs
// run.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// Returns whether the base name of `word` is that of a shell: "bash", "/bin/sh".
bool is_shell(std::string_view word);

// The operand of `bash OPTIONS...`: the text after -c, or the script. Both are empty if the shell
// reads its stdin.
struct ShellOperand {
  std::string_view text;
  std::string_view script;
  bool profile = false;  // -l, -i: the shell first reads files of its user
};
ShellOperand operand_of_shell(std::span<const std::string> command);

// Returns the simple commands of a text. Expansions are unchanged, except `$(which torchrun)`,
// which becomes the name of the program. Redirections are dropped.
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

// A `conda activate NAME` in the text of a shell that lacks conda's function. It can only fail
// there, because conda is then a program. A sourced file or an eval would define the function.
struct CondaActivation {
  std::string environment;  // "base" if the command names none
  std::string rest;         // the text without the activation
};
std::optional<CondaActivation> conda_activation(std::string_view text);

}  // namespace envgen
