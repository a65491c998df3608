#pragma once
// A parser for a shell's command line and text. It understands words, quotes and operators well
// enough to tell which programs run.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// Returns true if the base name of `word` is that of a shell: "bash", "/bin/sh".
bool is_shell(std::string_view word);

// The input of the shell in `bash OPTIONS...`: the text after -c, or a script. Both are empty if
// the shell reads its stdin.
struct ShellOperand {
  std::string_view text;
  std::string_view script;
  bool profile = false;  // with -l or -i: the shell first reads startup files of its user
};
ShellOperand operand_of_shell(std::span<const std::string> command);

// Returns the simple commands of a text. Redirections are dropped. Expansions stay as they are,
// except `$(which torchrun)`, which becomes the name of the program.
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

// A `conda activate NAME` in the text of a shell that does not define conda's function. There it
// always fails, because conda is then a program. A text that sources a file or uses eval is not
// meant, as that may define the function.
struct CondaActivation {
  std::string environment;  // "base" if the command names none
  std::string rest;         // the text without the activation
};
std::optional<CondaActivation> conda_activation(std::string_view text);

}  // namespace envgen
