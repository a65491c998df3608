#pragma once
// A shell's command line and text, as far as words, quotes and operators tell what runs.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// "bash", "/bin/sh": a program that reads shell text, by its name.
bool is_shell(std::string_view word);

// Of `bash OPTIONS...`: the text behind -c, or the script; both empty where it reads its stdin.
struct ShellOperand {
  std::string_view text;
  std::string_view script;
};
ShellOperand operand_of_shell(std::span<const std::string> command);

// The simple commands of a text. What expansions give stays as it was typed, but for
// `$(which torchrun)`, which stands for the program that it finds. Redirections are dropped.
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

}  // namespace envgen
