#pragma once
// The texts of help, all from the tables that the command line is parsed by: the first screen, one
// command, one group of options, everything.

#include <string>
#include <string_view>

#include "init/cli/command.h"

namespace cli {

// What all of them are at most wide.
inline constexpr std::size_t kScreenColumns = 100;

// `trainit --help`: one screen.
std::string usage();
// `trainit copy --help`, `trainit help cache ls`; of all commands that share its first word.
std::string command_help(std::string_view word);
// `trainit help grace`; also by the flag or the variable. "" = there is none.
std::string option_help(std::string_view word);
// `trainit help stop`
std::string topic_help(const Topic& topic);
// `trainit help all`
std::string all_help();
// Runs `trainit help [TOPIC | COMMAND | OPTION | all]`.
int help_command(Arguments words);

std::string version();

// "--grace DURATION"
std::string flag_of(const Option& option);
// "trainit cache ls [OPTIONS]"
std::string line_of(const Command& command);
// What the commands of this first word are for, on one line.
std::string_view help_of_word(std::string_view word);
// "hostfile check, hostfile convert: ", of an option that run has not.
std::string owners_of(const Option& option);
// "Takes a duration such as 8s. Default: 8s."; "".
std::string values_of(const Option& option);

}  // namespace cli
