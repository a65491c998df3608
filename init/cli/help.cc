#include "init/cli/help.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <initializer_list>

#include "base/exit_codes.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "init/cli/options.h"

namespace cli {
namespace {

constexpr std::string_view kIntroduction =
    "trainit is the entrypoint of a training image: it finds out which node this is, starts the "
    "ranks of\n"
    "the job, and ends the container with a line and an exit code that say what happened.\n\n"
    "trainit [OPTIONS] [--] COMMAND [ARG...]         as in: trainit --fan-out -- python3 "
    "train.py\n\n";

struct Words {
  std::string_view word;
  std::string_view help;
};
constexpr Words kFamilies[] = {
    {"ranktable", "rank tables of Ascend: check, convert or generate one"},
    {"hostfile", "hostfiles of MPI and its like: check or convert one"},
    {"cache", "the node's cache of datasets: list it (ls), or clean it up (gc)"}};

constexpr auto kExitCodeClasses = std::to_array(
    {Meaning{"0", "every rank, or the command, ended with 0"},
     Meaning{"69", "what the job waits for was not there in time: it may be, the next time"},
     Meaning{"70", "a rank hangs (--stall-action end)"},
     Meaning{"75", "start it again, elsewhere: it saved a checkpoint, or this node is not fit"},
     Meaning{"76", "the cause is on another node of the job"},
     Meaning{"124", "the job's time is over (--max-duration)"},
     Meaning{"125", "trainit's own failure, or bad input: the same container will fail again"},
     Meaning{"126, 127", "the command is not executable, or was not found"},
     Meaning{"128+n", "died of signal n; 143 and 130: stopped"},
     Meaning{"others", "of the first rank that failed, or of the command; never 200 to 219"}});

// Breaks text at blanks and indents each line by `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  for (const std::string_view paragraph : base::split(text, '\n')) {
    std::string line(indent, ' ');
    for (const std::string_view word : base::words_of(paragraph)) {
      if (line.size() > indent && line.size() + 1 + word.size() > kScreenColumns) {
        lines += concat({line, "\n"});
        line.assign(indent, ' ');
      }
      if (line.size() > indent) line += ' ';
      line += word;
    }
    lines += concat({line, "\n"});
  }
  return lines;
}

std::string row_of(std::string_view left, std::string_view right, std::size_t column) {
  std::string line = concat({"  ", left});
  line.resize(std::max(column, line.size() + 1), ' ');
  return concat({line, right, "\n"});
}

// Returns the options that the first screen and the help of run have in common.
std::string common_options() {
  constexpr std::size_t kColumn = 27;
  std::string text =
      "Options that most jobs need; each is a variable too, --grace for example TRAINIT_GRACE:\n";
  for (const Option& option : option_table()) {
    if (option.common) text += row_of(flag_of(option), option.help, kColumn);
  }
  return text;
}

std::string topic_names() {
  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  return base::joined(names, ", ");
}

std::string where_more_is() {
  return concat(
      {"More: trainit help TOPIC, which is one of\n", wrapped(topic_names(), 2),
       "trainit help COMMAND, trainit help all; as a manual: trainit reference man | man -l -\n"});
}

// Returns three lines about an option.
std::string paragraph_of(const Option& option) {
  constexpr std::size_t kVariableColumn = 40;
  constexpr std::size_t kIndent = 6;
  std::string text = has_variable(option)
                         ? row_of(flag_of(option), variable_name(option), kVariableColumn)
                         : row_of(option.letter != '\0'
                                      ? std::string{'-', option.letter, ',', ' '} + flag_of(option)
                                      : flag_of(option),
                                  "", 0);
  while (text.ends_with(" \n")) text.erase(text.size() - 2, 1);
  text += wrapped(option.help, kIndent);
  const std::string values = values_of(option);
  return values.empty() ? text : text + wrapped(values, kIndent);
}

// Returns true for the command's own options. The options that run has are shown by topic.
bool is_shown_with(const Option& option, Commands command) {
  if ((option.commands & command) == 0 || option.commands == kAll) return false;
  return (command & kJob) == 0 || (option.commands & kRun) == 0;
}

std::string options_of(const Command& command) {
  std::string text;
  for (const Option& option : option_table()) {
    if (is_shown_with(option, command.bit)) text += paragraph_of(option);
  }
  return text.empty() ? text : "\n" + text;
}

std::string examples_of(const Command& command) {
  std::string text;
  for (const std::string_view line : base::split(command.examples, '\n')) {
    if (!line.empty()) text += concat({"  ", line, "\n"});
  }
  return text.empty() ? text : "\nAs in:\n" + text;
}

std::string help_of(const Command& command) {
  std::string text = concat({line_of(command), "\n"});
  if (!command.help.empty()) text += wrapped(command.help, 2);
  text += wrapped(command.about, 2);
  if (command.bit == kRun) {
    text += concat({"\n", common_options()});
  } else {
    text += options_of(command);
  }
  if (command.more != nullptr) text += command.more();
  text += examples_of(command);
  if (command.bit == kRun) return concat({text, "\n", where_more_is()});
  if ((command.bit & kJob) != 0) {
    text += concat({"\nOPTIONS are those of a job: trainit help TOPIC, which is one of\n",
                    wrapped(topic_names(), 2)});
  }
  return text;
}

// Returns the text of `trainit help`.
std::string contents() {
  constexpr std::size_t kColumn = 12;
  std::string text = "Options by topic, for trainit help TOPIC:\n";
  for (const Topic& topic : topics()) text += row_of(topic.name, topic.title, kColumn);
  text += "Commands, for trainit help COMMAND:\n";
  for (const std::string_view word : command_words()) {
    text += row_of(word, help_of_word(word), kColumn);
  }
  return text +
         "One option: trainit help OPTION\nAn exit code: trainit help 75\n"
         "A word of any text: trainit help gpu\nEverything: trainit help all\n";
}

}  // namespace

std::string version() { return "trainit " TRAINIT_VERSION "\n"; }

std::string flag_of(const Option& option) {
  std::string flag = concat({"--", option.name});
  return option.value.empty() ? flag : flag + " " + std::string(option.value);
}

std::string line_of(const Command& command) {
  std::string line = concat({"trainit ", command.name});
  return command.arguments.empty() ? line : line + " " + std::string(command.arguments);
}

std::string_view help_of_word(std::string_view word) {
  const auto* family = std::ranges::find(kFamilies, word, &Words::word);
  if (family != std::end(kFamilies)) return family->help;
  const auto command = std::ranges::find(command_table(), word, &Command::name);
  return command != command_table().end() ? command->help : std::string_view();
}

std::string owners_of(const Option& option) {
  std::string owners;
  if ((option.commands & kRun) != 0) return owners;
  for (const Command& command : command_table()) {
    if ((option.commands & command.bit) == 0) continue;
    owners += concat({owners.empty() ? "" : ", ", command.name});
  }
  return concat({owners, ": "});
}

std::string values_of(const Option& option) {
  std::string text;
  const std::string accepts = option.accepts();
  if (!option.value.empty() || option.name == "terminal") text = concat({"Takes ", accepts, "."});
  if (!option.standard.empty()) {
    text += concat({text.empty() ? "Default: " : " Default: ", option.standard, "."});
  }
  return text;
}

std::string usage() {
  constexpr std::size_t kColumn = 15;
  std::string text(kIntroduction);
  for (const std::string_view word : command_words()) {
    text += row_of(word, help_of_word(word), kColumn);
  }
  return concat({text, "\n", common_options(), "\n", where_more_is()});
}

std::string command_help(std::string_view word) {
  std::string text;
  for (const Command& command : command_table()) {
    if (first_word(command) != word && command.name != word) continue;
    text += concat({text.empty() ? "" : "\n", help_of(command)});
  }
  return text;
}

std::string option_help(std::string_view word) {
  const std::string_view name = word.substr(word.starts_with("--") ? 2 : 0);
  std::string text;
  for (const Option& option : option_table()) {
    const std::vector<std::string> variables = variable_names(option);
    const auto variable = std::ranges::find(variables, name);
    if (!is_called(option, name) && variable == variables.end()) continue;
    std::string owners = owners_of(option);
    if (!owners.empty()) owners.replace(owners.size() - 1, 1, "\n");
    // The variable of the option's earlier name is the first of two.
    const bool is_earlier =
        name == option.earlier || (variable != variables.end() && variable != variables.end() - 1);
    const std::string note = is_earlier ? concat({word, " is an earlier name of\n"}) : "";
    text += concat({text.empty() ? "" : "\n", owners, note, paragraph_of(option)});
  }
  return text;
}

std::string topic_help(const Topic& topic) {
  std::string text = concat({topic.title, "\n"});
  for (const Option& option : option_table()) {
    if (option.topic->name == topic.name) text += concat({"\n", paragraph_of(option)});
  }
  return text;
}

std::string all_help() {
  std::string text = usage();
  for (const std::string_view word : command_words()) text += concat({"\n\n", command_help(word)});
  for (const Topic& topic : topics()) text += concat({"\n\n", topic_help(topic)});
  return text;
}

std::span<const Meaning> exit_codes() { return kExitCodeClasses; }

std::string exit_code_help(std::string_view word) {
  constexpr std::size_t kColumn = 12;
  std::string all = "Exit codes:\n";
  for (const Meaning& one : kExitCodeClasses) all += row_of(one.of, one.is, kColumn);
  if (word == "exit codes" || word == "exit-code" || word == "exit code") return all;
  int code = -1;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), code);
  if (parsed.ptr != word.data() + word.size() || code < 0 || code > exit_code::kMax) return "";
  constexpr int kLastSignal = 64;
  const std::string number = std::to_string(code);
  for (const Meaning& one : kExitCodeClasses) {
    for (const std::string_view of : base::split(one.of, ',')) {
      if (base::trimmed(of) == number) return row_of(number, one.is, kColumn);
    }
  }
  const int signal = code - exit_code::kSignalBase;
  if (signal <= 0 || signal > kLastSignal) {
    return row_of(number, kExitCodeClasses.back().is, kColumn);
  }
  const char* stopped = signal == SIGTERM || signal == SIGINT ? "stopped by " : "died of ";
  return row_of(number, stopped + base::signal_name(signal) + ", or exited with this code",
                kColumn);
}

std::string search_help(std::string_view word) {
  constexpr std::size_t kColumn = 27;
  constexpr std::size_t kMinBytes = 3;
  std::string wanted = base::lowercased(word);
  if (wanted.size() > kMinBytes && wanted.ends_with('s')) wanted.pop_back();  // a plural
  if (wanted.size() < kMinBytes || wanted.contains(' ')) return "";
  const auto has = [&wanted](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&wanted](std::string_view text) {
      const std::string lower = base::lowercased(text);
      for (std::size_t at = 0; (at = lower.find(wanted, at)) != std::string::npos; ++at) {
        if (at == 0 || std::isalnum(static_cast<unsigned char>(lower[at - 1])) == 0) return true;
      }
      return false;
    });
  };
  std::string text;
  for (const Topic& topic : topics()) {
    if (has({topic.name, topic.title})) {
      text += row_of(concat({"help ", topic.name}), topic.title, kColumn);
    }
  }
  for (const Command& command : command_table()) {
    if (!command.help.empty() && has({command.name, command.help, command.about})) {
      text += row_of(concat({"trainit ", command.name}), command.help, kColumn);
    }
  }
  for (const Option& option : option_table()) {
    if (has({option.name, option.help, option.accepts(), option.standard})) {
      text += row_of(flag_of(option), option.help, kColumn);
    }
  }
  return text.empty() ? "" : concat({"Entries with \"", word, "\" in their text:\n", text});
}

int help_command(Arguments words) {
  if (words.empty()) return print_as_is(contents());
  const std::string word = base::joined({words.begin(), words.end()}, " ");
  if (word == "all") return print_as_is(all_help());
  const auto topic = std::ranges::find(topics(), word, &Topic::name);
  std::string text = topic != topics().end() ? topic_help(*topic) : command_help(word);
  if (text.empty()) text = option_help(word);
  if (text.empty()) text = exit_code_help(word);
  if (text.empty()) text = search_help(word);
  if (!text.empty()) return print_as_is(text);
  WordList known = command_words();
  known.emplace_back("all");
  for (const Command& command : command_table()) {
    if (!command.help.empty()) known.push_back(command.name);
  }
  for (const Topic& one : topics()) known.push_back(one.name);
  for (const Option& option : option_table()) {
    known.push_back(option.name);
    if (!option.earlier.empty()) known.push_back(option.earlier);
  }
  std::string_view meant = word;
  meant.remove_prefix(word.starts_with("--") ? 2 : 0);
  return complain({"reading the command line", "trainit help",
                   "no topic, command, option, exit code or text with " + base::quoted(word),
                   with_guess("see: trainit help", meant, known)});
}

}  // namespace cli
