#pragma once
// A shell's command line and text, as far as words, quotes and operators tell what runs.

#include <optional>
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
  bool profile = false;  // -l, -i: the shell reads files of its user's first
};
ShellOperand operand_of_shell(std::span<const std::string> command);

// The simple commands of a text. What expansions give stays as it was typed, but for
// `$(which torchrun)`, which stands for the program that it finds. Redirections are dropped.
std::vector<std::vector<std::string>> simple_commands(std::string_view text);

// `conda activate NAME` in a text that a shell without conda's function reads, where it does
// nothing but fail: conda is a program there. That function comes from a file that is sourced, or
// from eval.
struct CondaActivation {
  std::string environment;  // "base" without a name
  std::string rest;         // the text without it
};
std::optional<CondaActivation> conda_activation(std::string_view text);

}  // namespace envgen
