#pragma once
// Completion for shells, made from the same tables as the command line parser. The tables have the
// commands, their second words, their options, and the values of options (words, files,
// directories).

#include <string>

namespace cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace cli
