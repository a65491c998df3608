#include "init/cli/completion.h"

#include <algorithm>

#include "base/constants/words.h"
#include "base/text.h"
#include "init/cli/command.h"
#include "init/cli/help.h"
#include "init/cli/options.h"

namespace cli {
namespace {

// The kind of completion for an option's value.
enum class Value : unsigned char { kNone, kText, kWords, kFile, kDirectory };

Value value_of(const Option& option) {
  static constexpr auto kFiles = base::words("FILE", "PATH", "PROFILE", "OUT", "SRC[=DST]");
  if (option.value.empty()) return Value::kNone;
  if (option.kind().words != nullptr) return Value::kWords;
  if (option.value == "DIR") return Value::kDirectory;
  return std::ranges::find(kFiles, option.value) != std::end(kFiles) ? Value::kFile : Value::kText;
}

// Returns the commands that help shows, in the order of the table.
std::vector<const Command*> commands_for_people() {
  std::vector<const Command*> commands;
  for (const Command& command : command_table()) {
    if (!command.help.empty()) commands.push_back(&command);
  }
  return commands;
}

// Commands that take a job's command share one list for the job's options.
bool is_of_job(const Option& option) { return (option.commands & kRun) != 0; }
bool is_own(const Option& option, const Command& command) {
  return (option.commands & command.bit) != 0 && ((command.bit & kJob) == 0 || !is_of_job(option));
}

// Returns "run|plan": the commands whose options another command follows.
std::string job_commands(std::string_view separator) {
  std::string text;
  for (const Command* command : commands_for_people()) {
    if ((command->bit & kJob) == 0) continue;
    text += concat({text.empty() ? "" : separator, command->name});
  }
  return text;
}

// Returns a case for bash and zsh: it ends the case before, and begins one in which the commands of
// a job come first.
std::string job_case() {
  return concat({"  esac\n  case $command in\n    ", job_commands("|"), ")\n"});
}

std::string_view letter_of(const Option& option) {
  return {&option.letter, option.letter == '\0' ? 0U : 1U};
}

std::string spaced(const WordList& words) {
  std::string text;
  for (const std::string_view word : words) text += concat({text.empty() ? "" : " ", word});
  return text;
}

WordList second_words(std::string_view word) {
  WordList words;
  for (const Command& command : command_table()) {
    if (first_word(command) == word && !second_word(command).empty()) {
      words.push_back(second_word(command));
    }
  }
  return words;
}

// Returns "ranktable|hostfile": the first words of commands with two words.
std::string families(std::string_view separator) {
  std::string text;
  for (const std::string_view word : command_words()) {
    if (second_words(word).empty()) continue;
    text += concat({text.empty() ? "" : separator, word});
  }
  return text;
}

// Returns the words that a command takes ("man|markdown").
WordList operands_of(const Command& command) {
  if (command.arguments.find('|') == std::string_view::npos ||
      command.arguments.find('[') != std::string_view::npos) {
    return {};
  }
  return base::split(command.arguments, '|');
}

// Returns the words for `trainit help`.
WordList help_words() {
  WordList words;
  for (const Topic& topic : topics()) words.push_back(topic.name);
  for (const std::string_view word : command_words()) words.push_back(word);
  words.emplace_back("all");
  return words;
}

// Returns `text` with `escape` instead of each `what`.
std::string escaped(std::string_view text, char what, std::string_view escape) {
  std::string safe;
  for (const char c : text) {
    if (c == what) {
      safe += escape;
    } else {
      safe += c;
    }
  }
  return safe;
}

// --- bash ---

// Returns the patterns of an option, such as "*' --grace'". A pattern matches the command and the
// word before the value. If another option has the same name, the patterns contain the commands.
std::string bash_patterns(const Option& option) {
  const bool shared = std::ranges::count(option_table(), option.name, &Option::name) > 1;
  std::string text;
  for (const Command* command : commands_for_people()) {
    if ((option.commands & command->bit) == 0) continue;
    const std::string before = shared ? concat({"'", command->name, " "}) : "*' ";
    text += concat({text.empty() ? "" : "|", before, "--", option.name, "'"});
    if (option.letter != '\0') text += concat({"|", before, "-", letter_of(option), "'"});
    if (!shared) break;
  }
  return text;
}

std::string bash_values() {
  std::string words;
  std::string plain[3];  // text, files, directories
  for (const Option& option : option_table()) {
    const Value value = value_of(option);
    const std::string patterns = bash_patterns(option);
    if (value == Value::kNone || patterns.empty()) continue;
    if (value == Value::kWords) {
      words += concat({"    ", patterns, ") ", option.kind().many ? "many" : "words", "='",
                       spaced(option.kind().words()), "' ;;\n"});
      continue;
    }
    std::string& list = plain[value == Value::kText ? 0 : value == Value::kFile ? 1 : 2];
    list += concat({list.empty() ? "    " : "|", patterns});
  }
  return concat({words, plain[0], ") return ;;\n", plain[1], ") compopt -o default; return ;;\n",
                 plain[2], ") compopt -o dirnames; return ;;\n"});
}

std::string bash_options() {
  std::string job;
  std::string takers;
  for (const Option& option : option_table()) {
    const std::string flag = concat({"--", option.name});
    if (is_of_job(option)) job += concat({job.empty() ? "" : " ", flag});
    if ((option.commands & kJob) != 0 && !option.value.empty()) takers += concat({" ", flag});
  }
  std::string cases;
  for (const Command* command : commands_for_people()) {
    std::string own;
    for (const Option& option : option_table()) {
      if (is_own(option, *command)) own += concat({" --", option.name});
    }
    const bool takes_job = (command->bit & kJob) != 0;
    cases += concat({"    '", command->name, "') words=", takes_job ? "$job" : "", "'", own, "'"});
    const WordList operands = operands_of(*command);
    if (!operands.empty()) cases += concat({" operands='", spaced(operands), "'"});
    cases += " ;;\n";
  }
  return concat({"  local job='", job, "'\n  local takers='", takers.substr(1),
                 "'\n  case $command in\n", cases, "    help) operands='", spaced(help_words()),
                 "' ;;\n", job_case()});
}

constexpr std::string_view kBashHead = R"(# bash completion for trainit
_trainit() {
  local i at=1 command=run words= many= operands=
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local commands=')";

constexpr std::string_view kBashCommand = R"(  # --option=VALUE is three words here.
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  if ((COMP_CWORD > 1)) && [[ " $commands " == *" ${COMP_WORDS[1]} "* ]]; then
    command=${COMP_WORDS[1]} at=2
  fi
  case $command in
)";

constexpr std::string_view kBashRest = R"(  if [[ -n $many ]]; then
    local list=
    [[ $word != *,* ]] || list=${word%,*},
    compopt -o nospace
    mapfile -t COMPREPLY < <(compgen -P "$list" -W "$many" -- "${word##*,}")
    return
  elif [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
)";

// The part for the commands of a job, and the end for all commands.
constexpr std::string_view kBashJob = R"(      # Behind its options stands a command of its own.
      for ((i = at; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
          --) ((i++)) ;;
          -*)
            if [[ ${COMP_WORDS[i+1]} == = ]]; then ((i += 2))
            elif [[ " $takers " == *" ${COMP_WORDS[i]} "* ]]; then ((i++))
            fi
            continue
            ;;
        esac
        if ((i <= COMP_CWORD)) && declare -F _command_offset >/dev/null; then
          _command_offset "$i"
        else
          compopt -o default
        fi
        return
      done
      [[ $word == -* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$word")
      if ((COMP_CWORD == 1)); then operands=$commands; fi
      ;;
  esac
  if [[ $word != -* ]]; then
    words=$operands
    [[ -n $words || ${#COMPREPLY[@]} -gt 0 ]] || { compopt -o default; return; }
    if ((COMP_CWORD == 1)) && [[ -z $word ]]; then COMPREPLY=(); fi
  fi
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _trainit trainit
)";

// --- zsh ---

// Returns `text` for '...' of a shell.
std::string zsh_quoted(std::string_view text) { return escaped(text, '\'', "'\\''"); }

// Returns "'--grace=[text]:DURATION: '" for _arguments, with one line for each name of the option.
std::string zsh_specs(const Option& option) {
  const std::string text = concat({"[", escaped(zsh_quoted(option.help), ']', "\\]"), "]"});
  std::string value;
  switch (value_of(option)) {
    case Value::kNone:
      break;
    case Value::kText:
      value = " ";
      break;
    case Value::kFile:
      value = "_files";
      break;
    case Value::kDirectory:
      value = "_files -/";
      break;
    case Value::kWords:
      value = option.kind().many ? "_values -s , " + std::string(option.value) + " " +
                                       spaced(option.kind().words())
                                 : "(" + spaced(option.kind().words()) + ")";
      break;
  }
  if (!value.empty()) value = concat({":", escaped(option.value, ':', "\\:"), ":", value});
  const bool repeats = option.help.ends_with("repeatable");
  std::string specs = concat({"    '", repeats ? "*" : "", "--", option.name,
                              value.empty() ? "" : "=", text, value, "'\n"});
  if (option.letter == '\0') return specs;
  return concat({specs, "    '-", letter_of(option), value.empty() ? "" : "+", text, value, "'\n"});
}

std::string zsh_own(const Command& command) {
  std::string specs;
  for (const Option& option : option_table()) {
    if (is_own(option, command)) specs += zsh_specs(option);
  }
  return specs;
}

std::string zsh_cases() {
  std::string cases;
  for (const Command* command : commands_for_people()) {
    cases += concat({"  ('", command->name, "') own=(\n", zsh_own(*command), "  )"});
    const WordList operands = operands_of(*command);
    if (!operands.empty()) cases += concat({" operand=':form:(", spaced(operands), ")'"});
    cases += " ;;\n";
  }
  return concat({cases, "  (help) operand=':topic or command:(", spaced(help_words()), ")' ;;\n"});
}

// Returns "'status:phase, ranks'" for _describe.
std::string zsh_words(std::string_view first) {
  std::string text;
  for (const Command* command : commands_for_people()) {
    if (first_word(*command) != first) continue;
    text += concat({" '", second_word(*command), ":", zsh_quoted(command->help), "'"});
  }
  return text;
}

constexpr std::string_view kZshHead = R"(#compdef trainit
# zsh completion for trainit
_trainit() {
  local command=run operand=':file:_files' curcontext=$curcontext state line
  typeset -A opt_args
  local -a commands seconds job own
  commands=(
)";

constexpr std::string_view kZshCommand = R"(    'help:help by topic or command'
  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe -t commands command commands
    [[ -z $words[2] ]] || _command_names -e
    return
  fi
  if (( ${commands[(I)$words[2]:*]} )); then
    command=$words[2]
    shift words
    (( CURRENT-- ))
  fi
  case $command in
)";

constexpr std::string_view kZshSecond = R"(  esac
  if (( $#seconds )); then
    if (( CURRENT == 2 )); then
      _describe -t commands action seconds
      return
    fi
    command+=" $words[2]"
    shift words
    (( CURRENT-- ))
  fi
  job=(
)";

// The part for the commands of a job, and the end for all commands.
constexpr std::string_view kZshJob =
    R"(      _arguments -S $job $own '(-)1: :_command_names -e' '*:: :_normal' ;;
    (*)
      _arguments -S $own "*$operand" ;;
  esac
}
if [[ $funcstack[1] = _trainit ]]; then
  _trainit "$@"
else
  compdef _trainit trainit
fi
)";

// --- fish ---

std::string fish_quoted(std::string_view text) {
  return concat({"'", escaped(escaped(text, '\\', "\\\\"), '\'', "\\'"), "'"});
}

std::string fish_names(Commands commands) {
  std::string text;
  for (const Command* command : commands_for_people()) {
    if ((commands & command->bit) == 0) continue;
    text += concat({text.empty() ? "" : " ", escaped(command->name, ' ', "-")});
  }
  return text;
}

std::string fish_option(const Option& option) {
  const std::string names = fish_names(option.commands);
  if (names.empty()) return "";
  std::string line =
      "complete -c trainit -n '__trainit_is " + names + "' -l " + std::string(option.name);
  if (option.letter != '\0') line += concat({" -s ", letter_of(option)});
  switch (value_of(option)) {
    case Value::kNone:
      break;
    case Value::kText:
      line += " -x";
      break;
    case Value::kFile:
      line += " -r -F";
      break;
    case Value::kDirectory:
      line += " -x -a '(__fish_complete_directories)'";
      break;
    case Value::kWords:
      line += option.kind().many
                  ? " -x -a '(__fish_append , " + spaced(option.kind().words()) + ")'"
                  : " -x -a '" + spaced(option.kind().words()) + "'";
      break;
  }
  return concat({line, " -d ", fish_quoted(option.help), "\n"});
}

std::string fish_word(std::string_view place, std::string_view word, std::string_view help) {
  return concat({"complete -c trainit -n '__trainit_is ", place, "' -f -a ", word, " -d ",
                 fish_quoted(help), "\n"});
}

std::string fish_words() {
  std::string lines;
  for (const std::string_view word : command_words()) {
    lines += fish_word("first", word, help_of_word(word));
  }
  lines += fish_word("first", "help", "help by topic or command");
  for (const Command* command : commands_for_people()) {
    if (!second_word(*command).empty()) {
      lines += fish_word(first_word(*command), second_word(*command), command->help);
    }
    for (const std::string_view word : operands_of(*command)) {
      lines += fish_word(command->name, word, "print it");
    }
  }
  for (const Topic& topic : topics()) lines += fish_word("help", topic.name, topic.title);
  for (const std::string_view word : command_words()) {
    lines += fish_word("help", word, help_of_word(word));
  }
  return concat({lines, fish_word("help", "all", "everything")});
}

// A function that compares the place of the cursor with names. The place is a command if its
// options can be there, "first" if a command can be there, too, or "program" in a job's command.
constexpr std::string_view kFishPlace = R"(
function __trainit_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l place run
    if not set -q words[1]
        contains -- first $argv; and return 0
    else if contains -- $words[1] $__trainit_commands
        set place $words[1]
        set -e words[1]
        if contains -- $place $__trainit_families; and set -q words[1]
            set place $place-$words[1]
            set -e words[1]
        end
    end
    if contains -- $place $__trainit_jobs
        while set -q words[1]
            if not string match -q -- '-*' $words[1]; or test $words[1] = --
                set place program
                break
            end
            contains -- $words[1] $__trainit_takers; and set -e words[1]
            set -e words[1]
        end
    end
    contains -- $place $argv
end
)";

// The programs of the machine, except for an empty first word: there they would hide the commands.
// fish runs the text in ( ) to complete the word.
constexpr std::string_view kFishProgram =
    "complete -c trainit -n '__trainit_is first run; and not begin; __trainit_is first; and test "
    "-z "
    "(commandline -ct); end' -f -a "
    R"('(string match -q "*(*" -- (commandline -ct); or __fish_complete_command)'
)";

}  // namespace

std::string bash_completion() {
  std::string cases;
  for (const std::string_view word : command_words()) {
    const WordList seconds = second_words(word);
    if (seconds.empty()) continue;
    cases +=
        concat({"    ", word, ")\n      if ((COMP_CWORD == 2)); then mapfile -t ",
                "COMPREPLY < <(compgen -W '", spaced(seconds),
                "' -- \"$word\"); return; fi\n      command+=\" ${COMP_WORDS[2]}\"\n      ;;\n"});
  }
  return concat({kBashHead, spaced(command_words()), " help'\n", kBashCommand, cases,
                 "  esac\n  case \"$command $before\" in\n", bash_values(), "  esac\n", kBashRest,
                 bash_options(), kBashJob});
}

std::string zsh_completion() {
  std::string job;
  for (const Option& option : option_table()) {
    if (is_of_job(option)) job += zsh_specs(option);
  }
  std::string commands;
  std::string seconds;
  for (const std::string_view word : command_words()) {
    commands += concat({"    '", word, ":", zsh_quoted(help_of_word(word)), "'\n"});
    if (second_words(word).empty()) continue;
    seconds += concat({"    (", word, ") seconds=(", zsh_words(word), ") ;;\n"});
  }
  return concat({kZshHead, commands, kZshCommand, seconds, kZshSecond, job,
                 "  )\n  case $command in\n", zsh_cases(), job_case(), kZshJob});
}

std::string fish_completion() {
  std::string takers;
  std::string options;
  for (const Option& option : option_table()) {
    if ((option.commands & kJob) != 0 && !option.value.empty()) {
      takers += concat({" --", option.name});
    }
    options += fish_option(option);
  }
  return concat({"# fish completion for trainit\nset -g __trainit_commands ",
                 spaced(command_words()), " help\nset -g __trainit_families ", families(" "),
                 "\nset -g __trainit_jobs ", job_commands(" "), "\nset -g __trainit_takers", takers,
                 kFishPlace, kFishProgram, fish_words(), options});
}

}  // namespace cli
