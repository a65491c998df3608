#pragma once
// The texts of help, made from the same tables as the command line parser: the first screen, one
// command, one group of options, everything.

#include <span>
#include <string>
#include <string_view>

#include "init/cli/command.h"

namespace cli {

// The maximum width of all texts.
inline constexpr std::size_t kScreenColumns = 100;

// Returns the text of `trainit --help`: one screen.
std::string usage();
// Returns the text of `trainit copy --help` or `trainit help cache ls`. The text has all commands
// with the first word `word`.
std::string command_help(std::string_view word);
// Returns the text of `trainit help grace`. `word` can also be the flag or the variable. Returns ""
// if there is no such option.
std::string option_help(std::string_view word);
// Returns the text of `trainit help stop`.
std::string topic_help(const Topic& topic);
// Returns the text of `trainit help all`.
std::string all_help();
// Returns the text of `trainit help 75` or `trainit help exit codes`; "" if `word` is neither.
std::string exit_code_help(std::string_view word);
// Returns the topics, commands and options whose texts have the word ("gpu"), or "". Several words
// and words of fewer than three bytes have no entry.
std::string search_help(std::string_view word);
// Runs `trainit help [TOPIC | COMMAND | OPTION | CODE | WORD | all]`.
int help_command(Arguments words);

// An entry of a list: its name and its meaning.
struct Meaning {
  std::string_view of;
  std::string_view is;
};
// Returns the classes of exit codes.
std::span<const Meaning> exit_codes();

std::string version();

// Returns "--grace DURATION".
std::string flag_of(const Option& option);
// Returns "trainit cache ls [OPTIONS]".
std::string line_of(const Command& command);
// Returns the purpose of the commands with this first word, on one line.
std::string_view help_of_word(std::string_view word);
// Returns "hostfile check, hostfile convert: " for an option that run does not have.
std::string owners_of(const Option& option);
// Returns "Takes a duration such as 8s. Default: 8s.", or "".
std::string values_of(const Option& option);

}  // namespace cli
