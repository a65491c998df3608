#pragma once
// Completion for the shells, from the tables that the command line is parsed by: commands, their
// second words, options of each, and what these take (words, files, directories).

#include <string>

namespace cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace cli
