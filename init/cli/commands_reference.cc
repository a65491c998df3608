// reference: prints the manual page, the table of options, or the completion of a shell. The texts
// are made from the same tables as the command line parser.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "init/cli/commands.h"
#include "init/cli/completion.h"
#include "init/cli/help.h"
#include "init/cli/options.h"

namespace cli {
namespace {

// --- man(7) ---

// Returns text that troff prints unchanged: without escapes, hyphens for minus signs, or requests.
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
    "Options end at \\-\\- or at the first argument that is none. Those of a job have variables,\n"
    "which an image or a platform sets; an option beats its variable. A repeated option is lines\n"
    "in its variable. A DURATION is a number with ms, s, m, h or d, of seconds without one, and "
    "at\n"
    "most 366d; a SIZE one with k, m, g or t, of bytes without one.\n";

constexpr auto kFiles = std::to_array(
    {Meaning{"/etc/trainit/hooks/<event>.d", "the hooks of an image, see run-parts(8)"},
     Meaning{"/etc/trainit/failures.d/*.json", "what an image's own failures look like"},
     Meaning{"/run/trainit, /tmp/trainit-<uid>, /dev/shm/trainit-<uid>",
             "the run directory: state.json, the control socket, logs; TRAINIT_RUN_DIR"},
     Meaning{"/dev/termination-log", "why the job failed, where Kubernetes made that file"}});

constexpr auto kVariables = std::to_array(
    {Meaning{"TRAINIT_<OPTION>", "each option of a job: TRAINIT_MAX_RESTARTS for --max-restarts"},
     Meaning{"RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
             "what the ranks of most frameworks get; RANK_ID, DEVICE_ID, RANK_SIZE and "
             "RANK_TABLE_FILE on Ascend. trainit plan shows all of them"},
     Meaning{"TRAINIT_HOOK, TRAINIT_EXIT_CODE, TRAINIT_NODE_RANK, TRAINIT_NODE_COUNT and others",
             "what hooks get"},
     Meaning{
         "RANK_TABLE_FILE, MA_JOB_DIR, VC_TASK_INDEX, SLURM_PROCID, TF_CONFIG and others",
         "what platforms inject: the first line of trainit plan says which one was recognised"}});

void add_item(std::string& page, const std::string& tag, std::string_view text) {
  page += concat({".TP\n", tag, "\n", roff(text), "\n"});
}

void add_items(std::string& page, std::string_view title, std::span<const Meaning> items) {
  page += concat({".SH ", title, "\n"});
  for (const Meaning& item : items) add_item(page, roff(item.of), item.is);
}

std::string option_text(const Option& option) {
  std::string text = concat({owners_of(option), option.help, "."});
  if (const std::string values = values_of(option); !values.empty()) text += concat({" ", values});
  if (has_variable(option)) text += concat({" Variable: ", variable_name(option), "."});
  return text;
}

// Returns "trainit cache ls [OPTIONS]" with the name in bold.
std::string bold_line_of(const Command& command) {
  return concat({"\\fBtrainit ", roff(command.name), command.arguments.empty() ? "\\fR" : "\\fR ",
                 roff(command.arguments)});
}

void add_commands(std::string& page) {
  page += ".SH COMMANDS\n";
  std::string examples;
  for (const Command& command : command_table()) {
    if (command.help.empty()) continue;
    add_item(page, bold_line_of(command), std::string(command.help) + ".");
    for (const std::string_view paragraph : base::split(command.about, '\n')) {
      page += concat({".br\n", roff(paragraph), "\n"});
    }
    for (const std::string_view line : base::split(command.examples, '\n')) {
      if (!line.empty()) examples += concat({roff(line), "\n"});
    }
  }
  page += concat({".SH EXAMPLES\n.nf\n", examples, ".fi\n"});
}

void add_options(std::string& page) {
  page += ".SH OPTIONS\n";
  const Topic* topic = nullptr;
  for (const Option& option : option_table()) {
    if (option.topic != topic) page += concat({".SS ", roff(option.topic->title), "\n"});
    topic = option.topic;
    std::string tag = concat({"\\fB", roff("--" + std::string(option.name)), "\\fR"});
    if (!option.value.empty()) tag += concat({" \\fI", roff(option.value), "\\fR"});
    add_item(page, tag, option_text(option));
  }
}

std::string man_page() {
  std::string page =
      concat({".TH TRAINIT 1 \"\" \"", roff(version().substr(0, version().size() - 1)),
              "\" \"User Commands\"\n.SH NAME\ntrainit \\- entrypoint of training images\n"
              ".SH SYNOPSIS\n\\fBtrainit\\fR [OPTIONS] [\\-\\-] COMMAND [ARG...]\n"});
  for (const Command& command : command_table()) {
    if (!command.help.empty()) page += concat({".br\n", bold_line_of(command), "\n"});
  }
  page += concat({".SH DESCRIPTION\n", kDescription});
  add_commands(page);
  add_options(page);
  add_items(page, "EXIT STATUS", exit_codes());
  add_items(page, "FILES", kFiles);
  add_items(page, "ENVIRONMENT", kVariables);
  return concat({page, ".SH SEE ALSO\ntini(1), dumb\\-init(1), docker\\-run(1)\n"});
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

std::string commands_in_markdown() {
  std::string text = "| command | what it does |\n| --- | --- |\n";
  for (const Command& command : command_table()) {
    if (command.help.empty()) continue;
    text += concat({"| `", cell(line_of(command)), "` | ", cell(command.help), " |\n"});
  }
  return text;
}

// Returns the commands, then a table for each topic.
std::string markdown() {
  std::string text = commands_in_markdown();
  const Topic* topic = nullptr;
  for (const Option& option : option_table()) {
    if (option.topic != topic) {
      topic = option.topic;
      text += concat({"\n### ", topic->title, "\n\n"});
      if (!topic->name.empty()) text += concat({"`trainit help ", topic->name, "`\n\n"});
      text +=
          "| option | variable | meaning | takes | default |\n| --- | --- | --- | --- | --- |\n";
    }
    const std::string variable = has_variable(option) ? '`' + variable_name(option) + '`' : "";
    const std::string takes = option.value.empty() ? "" : option.accepts();
    text += concat({"| `", cell(flag_of(option)), "` | ", variable, " | ", cell(owners_of(option)),
                    cell(option.help), " | ", cell(takes), " | ", cell(option.standard), " |\n"});
  }
  return text;
}

struct Form {
  std::string_view name;
  std::string (*make)();
};

constexpr auto kForms =
    std::to_array({Form{"man", man_page}, Form{"markdown", markdown}, Form{"bash", bash_completion},
                   Form{"zsh", zsh_completion}, Form{"fish", fish_completion}});

}  // namespace

int reference_command(Call& call) {
  const std::vector<std::string>& words = call.options.operands;
  const auto* wanted =
      words.size() == 1 ? std::ranges::find(kForms, words[0], &Form::name) : kForms.end();
  if (wanted != kForms.end()) return print_as_is(wanted->make());
  WordList forms;
  for (const Form& form : kForms) forms.push_back(form.name);
  const bool one = words.size() == 1;
  return complain({"reading the command line", "trainit reference",
                   one ? base::quoted(words[0]) : "not one form",
                   with_guess("give " + either(forms), one ? words[0] : "", forms)});
}

}  // namespace cli
