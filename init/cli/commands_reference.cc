// reference: the manual page, the table of the options and the completion of a shell, all from the
// tables that the command line is parsed by.

#include <algorithm>
#include <array>

#include "init/cli/commands.h"
#include "init/cli/options.h"

namespace cli {
namespace {

constexpr std::string_view kUsage =
    "trainit reference man|markdown|bash\n"
    "    man       the manual page, for man(1)\n"
    "    markdown  the options and their variables, a table\n"
    "    bash      completion, for /usr/share/bash-completion/completions/trainit\n";

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
    "platform sets; an option beats its variable. A repeated option is lines in its variable.\n";

struct Meaning {
  std::string_view of;
  std::string_view is;
};

constexpr std::array kExitCodes = {
    Meaning{"0", "every rank, or the command, ended with 0"},
    Meaning{"75", "start it again, elsewhere: it saved a checkpoint, or this node is not fit"},
    Meaning{"124", "out of time: the job's, or that of something it waited for"},
    Meaning{"125", "trainit's own failure, or bad input: the same container will fail again"},
    Meaning{"126, 127", "the command is not executable, or was not found"},
    Meaning{"128+n", "died of signal n; 143 and 130: stopped"},
    Meaning{"others", "of the first rank that failed, or of the command; never 200 to 219"}};

constexpr std::array kFiles = {
    Meaning{"/etc/trainit/hooks/<event>.d", "the hooks of an image, see run-parts(8)"},
    Meaning{"/run/trainit, /tmp/trainit-<uid>, /dev/shm/trainit-<uid>",
            "the run directory: state.json, the control socket, logs; TRAINIT_RUN_DIR"},
    Meaning{"/dev/termination-log", "why the job failed, where Kubernetes made that file"}};

void add_item(std::string& page, const std::string& tag, std::string_view text) {
  page += ".TP\n" + tag + "\n" + roff(text) + "\n";
}

std::string option_text(const Option& option) {
  std::string text(option.help);
  if (!option.value.empty()) text += ". Takes " + std::string(option.accepts);
  if (has_variable(option)) text += ". Variable: " + variable_name(option);
  return text + ".";
}

std::string man_page() {
  std::string page = ".TH TRAINIT 1 \"\" \"" + roff(version().substr(0, version().size() - 1)) +
                     "\" \"User Commands\"\n.SH NAME\ntrainit \\- entrypoint of training images\n"
                     ".SH SYNOPSIS\n";
  for (const CommandHelp& command : command_help()) {
    if (command.name != "run") page += ".br\n";
    const std::string name = command.name == "run" ? "" : " " + std::string(command.name);
    page += "\\fBtrainit" + roff(name) + "\\fR " + roff(command.arguments) + "\n";
  }
  page += ".SH DESCRIPTION\n" + std::string(kDescription) + ".SH COMMANDS\n";
  for (const CommandHelp& command : command_help()) {
    add_item(page, "\\fB" + roff(command.name) + "\\fR " + roff(command.arguments), command.help);
  }
  page += ".SH OPTIONS\n";
  for (const Option& option : option_table()) {
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
    std::string flag = "--" + std::string(option.name);
    if (!option.value.empty()) flag += " " + std::string(option.value);
    const std::string variable = has_variable(option) ? '`' + variable_name(option) + '`' : "";
    table += "| `" + cell(flag) + "` | " + variable + " | " + cell(option.help) + " |\n";
  }
  return table;
}

// --- bash ---

std::string bash_completion() {
  std::string commands;
  for (const CommandHelp& command : command_help()) commands += std::string(command.name) + " ";
  std::string options;
  std::string takers;  // those with a value
  for (const Option& option : option_table()) {
    options += "--" + std::string(option.name) + " ";
    if (!option.value.empty()) takers += "--" + std::string(option.name) + "|";
  }
  commands.pop_back();
  options.pop_back();
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
         options +
         "'\n"
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

int reference_command(Arguments arguments, const envgen::Environ& /*env*/) {
  const std::string_view form = arguments.size() == 1 ? std::string_view(arguments[0]) : "";
  if (form == "--help" || form == "-h") return print(kUsage);
  const auto* wanted = std::ranges::find(kForms, form, &Form::name);
  if (wanted != kForms.end()) return print(wanted->make());
  return complain({"reading the command line", "trainit reference",
                   form.empty() ? "not one form" : '"' + std::string(form) + '"',
                   "give man, markdown or bash"});
}

}  // namespace cli
