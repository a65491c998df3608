#include "init/cli/command.h"

#include <algorithm>

namespace cli {

std::string_view first_word(const Command& command) {
  return command.name.substr(0, command.name.find(' '));
}

std::string_view second_word(const Command& command) {
  return command.name.substr(std::min(first_word(command).size() + 1, command.name.size()));
}

WordList command_words() {
  WordList words;
  for (const Command& command : command_table()) {
    const std::string_view word = first_word(command);
    if (!command.help.empty() && (words.empty() || words.back() != word)) words.push_back(word);
  }
  return words;
}

}  // namespace cli
