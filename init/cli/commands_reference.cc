// reference: the manual page, the table of the options and the completion of a shell, all from the
// tables that the command line is parsed by.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "init/cli/commands.h"
#include "init/cli/options.h"

namespace cli {
namespace {

// "hostfile check, hostfile convert: ", before the help of an option that run has not.
std::string owners_of(const Option& option) {
  std::string owners;
  if ((option.commands & kRun) != 0) return owners;
  for (const Command& command : command_table()) {
    if ((option.commands & command.bit) == 0) continue;
    owners += (owners.empty() ? "" : ", ") + std::string(command.name);
  }
  return owners + ": ";
}

// "--grace DURATION"
std::string flag_of(const Option& option) {
  std::string flag = "--" + std::string(option.name);
  return option.value.empty() ? flag : flag + " " + std::string(option.value);
}

// --- man(7) ---

// Text that troff leaves as it is: no escape, no hyphen for a minus, no request.
std::string roff(std::string_view text) {
  std::string safe;
  if (text.starts_with('.') || text.starts_with('\'')) safe = "\\&";
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
  }
  return safe;
}

constexpr std::string_view kDescription =
    "trainit is the entrypoint of a training image: PID 1 of its container, or an ordinary "
    "process.\n"
    "It turns what the platform injected (variables, host lists, a rank table that may not be\n"
    "complete yet, mounts) into the processes that the training framework expects, runs them, and\n"
    "ends the container correctly. Called as tini, docker\\-init, dumb\\-init or catatonit it "
    "takes\n"
    "that program's options and behaves as it does.\n"
    ".PP\n"
    "Options end at \\-\\- or at the first argument that is none. Each option but \\-\\-help,\n"
    "\\-\\-version, \\-\\-json, \\-\\-watch and \\-\\-snapshot has a variable, which an image or "
    "a\n"
    "platform sets; an option beats its variable. A repeated option is lines in its variable.\n"
    "A DURATION is a number with ms, s, m, h or d, of seconds without one, and at most 366d.\n";

struct Meaning {
  std::string_view of;
  std::string_view is;
};

constexpr std::array kExitCodes = {
    Meaning{"0", "every rank, or the command, ended with 0"},
    Meaning{"69", "what the job waits for was not there in time: it may be, the next time"},
    Meaning{"70", "a rank hangs (--stall-action end)"},
    Meaning{"75", "start it again, elsewhere: it saved a checkpoint, or this node is not fit"},
    Meaning{"76", "the cause is on another node of the job"},
    Meaning{"124", "the job's time is over (--max-duration)"},
    Meaning{"125", "trainit's own failure, or bad input: the same container will fail again"},
    Meaning{"126, 127", "the command is not executable, or was not found"},
    Meaning{"128+n", "died of signal n; 143 and 130: stopped"},
    Meaning{"others", "of the first rank that failed, or of the command; never 200 to 219"}};

constexpr std::array kFiles = {
    Meaning{"/etc/trainit/hooks/<event>.d", "the hooks of an image, see run-parts(8)"},
    Meaning{"/etc/trainit/failures.d/*.json", "what an image's own failures look like"},
    Meaning{"/run/trainit, /tmp/trainit-<uid>, /dev/shm/trainit-<uid>",
            "the run directory: state.json, the control socket, logs; TRAINIT_RUN_DIR"},
    Meaning{"/dev/termination-log", "why the job failed, where Kubernetes made that file"}};

void add_item(std::string& page, const std::string& tag, std::string_view text) {
  page += ".TP\n" + tag + "\n" + roff(text) + "\n";
}

std::string option_text(const Option& option) {
  std::string text = owners_of(option) + std::string(option.help);
  if (!option.value.empty()) text += ". Takes " + option.accepts();
  if (has_variable(option)) text += ". Variable: " + variable_name(option);
  return text + ".";
}

std::string man_page() {
  std::string page = ".TH TRAINIT 1 \"\" \"" + roff(version().substr(0, version().size() - 1)) +
                     "\" \"User Commands\"\n.SH NAME\ntrainit \\- entrypoint of training images\n"
                     ".SH SYNOPSIS\n";
  std::string commands;
  for (const Command& command : command_table()) {
    if (command.help.empty()) continue;
    const bool is_run = command.bit == kRun;
    const std::string name = is_run ? "" : " " + std::string(command.name);
    const std::string arguments =
        (command.arguments.empty() ? "\\fR" : "\\fR ") + roff(command.arguments);
    page += (is_run ? "" : ".br\n") + ("\\fBtrainit" + roff(name)) + arguments + "\n";
    add_item(commands, "\\fB" + roff(command.name) + arguments, command.help);
  }
  page += ".SH DESCRIPTION\n" + std::string(kDescription) + ".SH COMMANDS\n" + commands;
  page += ".SH OPTIONS\n";
  std::string_view group;
  for (const Option& option : option_table()) {
    if (option.group != group) page += ".SS " + roff(option.group) + "\n";
    group = option.group;
    std::string tag = "\\fB" + roff("--" + std::string(option.name)) + "\\fR";
    if (!option.value.empty()) tag += " \\fI" + roff(option.value) + "\\fR";
    add_item(page, tag, option_text(option));
  }
  page += ".SH EXIT STATUS\n";
  for (const Meaning& code : kExitCodes) add_item(page, roff(code.of), code.is);
  page += ".SH FILES\n";
  for (const Meaning& file : kFiles) add_item(page, roff(file.of), file.is);
  return page + ".SH SEE ALSO\ntini(1), dumb\\-init(1), docker\\-run(1)\n";
}

// --- Markdown ---

std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string markdown() {
  std::string table = "| option | variable | meaning |\n| --- | --- | --- |\n";
  for (const Option& option : option_table()) {
    const std::string variable = has_variable(option) ? '`' + variable_name(option) + '`' : "";
    table += "| `" + cell(flag_of(option)) + "` | " + variable + " | " + cell(owners_of(option)) +
             cell(option.help) + " |\n";
  }
  return table;
}

// --- bash ---

// The words that may follow the command `word`: what it takes, and its options, but for those of
// `but`.
std::string words_behind(std::string_view word, Commands but = 0) {
  std::string words;
  Commands commands = 0;
  for (const Command& command : command_table()) {
    if (first_word(command) != word) continue;
    commands |= command.bit;
    if (command.name != word) words += std::string(command.name.substr(word.size() + 1)) + " ";
  }
  for (const Option& option : option_table()) {
    if ((option.commands & commands) != 0 && (option.commands & but) == 0)
      words += "--" + std::string(option.name) + " ";
  }
  words.pop_back();
  return words;
}

std::string bash_completion() {
  std::string commands;
  std::string cases;
  std::string_view last;
  for (const Command& command : command_table()) {
    const std::string_view word = first_word(command);
    if (command.help.empty() || word == last) continue;
    last = word;
    commands += std::string(word) + " ";
    if ((command.bit & (kRun | kPlan | kSnapshot)) != 0) continue;
    const bool more = command.bit == kDoctor;  // than run's
    cases += "    " + std::string(word) + ") words" + (more ? "+=' " : "='") +
             words_behind(word, more ? kRun : 0) + "' ;;\n";
  }
  commands.pop_back();
  std::string takers;  // those with a value
  for (const Option& option : option_table()) {
    if (!option.value.empty()) takers += "--" + std::string(option.name) + "|";
  }
  takers.pop_back();
  return "# bash completion for trainit\n"
         "_trainit() {\n"
         "  local i word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    [[ ${COMP_WORDS[i]} == -- ]] || continue\n"
         "    # Behind it is a command of its own.\n"
         "    if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi\n"
         "    return\n"
         "  done\n"
         "  case $before in\n"
         "    " +
         takers +
         ") return ;;\n"
         "  esac\n"
         "  local words='" +
         words_behind("run") +
         "'\n"
         "  ((COMP_CWORD == 1)) || case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then words='" +
         commands +
         "'; fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _trainit trainit\n";
}

struct Form {
  std::string_view name;
  std::string (*make)();
};

constexpr std::array kForms = {Form{"man", man_page}, Form{"markdown", markdown},
                               Form{"bash", bash_completion}};

}  // namespace

int reference_command(Call& call) {
  const std::vector<std::string>& words = call.options.operands;
  const auto* wanted =
      words.size() == 1 ? std::ranges::find(kForms, words[0], &Form::name) : kForms.end();
  if (wanted != kForms.end()) return print(wanted->make());
  return complain({"reading the command line", "trainit reference",
                   words.size() == 1 ? envgen::quoted(words[0]) : "not one form",
                   "give man, markdown or bash"});
}

}  // namespace cli
