// reference: manual page, options and completion agree with the command line by construction; here,
// that the programs which read them take them.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "init/cli/commands.h"
#include "init/cli/options.h"
#include "tests/rules/job.h"
#include "tests/source_path.h"

namespace {

using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Reference : public rules::JobTest {
 protected:
  [[nodiscard]] std::string form(const char* name) const {
    const Result result = tool({"reference", name});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  }
  [[nodiscard]] Result program(const Words& argv) const {
    return rules::run({.args = argv, .env = env(), .pid1 = false, .program = argv[0]});
  }
};

TEST_F(Reference, ManualPageHasEachOptionAndNoFault) {
  const std::string page = form("man");
  const std::string file = write("trainit.1", page);
  if (!std::filesystem::exists("/usr/bin/groff")) GTEST_SKIP() << "there is no groff";
  const Result checked = program({"/usr/bin/groff", "-man", "-ww", "-z", file});
  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.err, IsEmpty());
  // Bold is a character, a backspace and the character again.
  std::string shown;
  for (const char c :
       program({"/usr/bin/groff", "-man", "-Tascii", "-P-c", "-rLL=400n", file}).out) {
    if (c == '\b') {
      shown.pop_back();
    } else {
      shown += c;
    }
  }
  for (const cli::Option& option : cli::option_table()) {
    EXPECT_NE(shown.find("--" + std::string(option.name)), std::string::npos) << option.name;
    if (!cli::has_variable(option)) continue;
    EXPECT_NE(shown.find(cli::variable_name(option)), std::string::npos) << option.name;
  }
}

TEST_F(Reference, BashCompletes) {
  const std::string file = write("completion", form("bash"));
  const auto complete = [&](const std::string& words, int at) {
    return program({"/bin/bash", "-c",
                    ". " + file + "; compopt() { :; }; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                        std::to_string(at) + "; _trainit; echo \"${COMPREPLY[*]}\""})
        .out;
  };
  EXPECT_EQ(complete("trainit doct", 1), "doctor\n");
  EXPECT_EQ(complete("trainit run --rank-table-t", 2), "--rank-table-timeout\n");
  EXPECT_EQ(complete("trainit --grace --he", 2), "\n") << "a duration, no option";
  EXPECT_EQ(complete("trainit copy --own", 2), "--owner\n");
  EXPECT_EQ(complete("trainit copy --grac", 2), "\n") << "an option of a job";
  EXPECT_EQ(complete("trainit doctor --ju", 2), "--junit\n");
  EXPECT_EQ(complete("trainit doctor --rank-table-t", 2), "--rank-table-timeout\n");
  EXPECT_EQ(complete("trainit cache g", 2), "gc\n");
  EXPECT_EQ(complete("trainit cache gc --dry", 3), "--dry-run\n");
  EXPECT_EQ(complete("trainit ranktable ''", 2), "check convert generate\n");
  EXPECT_EQ(complete("trainit hostfile convert --to open", 4), "openmpi\n");
  EXPECT_EQ(complete("trainit --output te", 2), "tee\n");
  EXPECT_EQ(complete("trainit --output = fi", 3), "first files\n");
  EXPECT_EQ(complete("trainit --output =", 2), "first inherit files tee\n");
  EXPECT_EQ(complete("trainit report --output te", 3), "\n") << "a file";
  EXPECT_EQ(complete("trainit doctor --only gpu,dis", 3), "gpu,disk\n");
  EXPECT_EQ(complete("trainit reference fi", 2), "fish\n");
  EXPECT_EQ(complete("trainit help sand", 2), "sandbox\n");
  EXPECT_EQ(complete("trainit -- --he", 2), "\n") << "the command's own";
  EXPECT_EQ(complete("trainit plan --grace 8s cat --he", 5), "\n") << "the command's own";
}

// What an interactive zsh makes of the line when the tabulator is pressed.
TEST_F(Reference, ZshCompletes) {
  if (!std::filesystem::exists("/usr/bin/zsh")) GTEST_SKIP() << "there is no zsh";
  const std::string file = write("_trainit", form("zsh"));
  EXPECT_EQ(program({"/usr/bin/zsh", "-n", file}).err, "");
  const std::string script = write("press", R"(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PROMPT_EOL_MARK= TERM=dumb LISTMAX=1000 COLUMNS=300; unsetopt zle_bracketed_paste"
zpty -w shell "autoload -U compinit; compinit -u -D; source $1"
zpty -w shell 'press() { zle complete-word; print -r -- "<$BUFFER>"; BUFFER=; zle .accept-line }; zle -N press'
zpty -w shell 'bindkey "^I" press; print re''ady'
zpty -r -m shell text '*ready*'
shift
for line; do
  zpty -w -n shell "$line"$'\t'
  zpty -r -m shell text '*<trainit*>*'
  print -r -- "$text"
done
)");
  const std::pair<std::string, std::string> lines[] = {
      {"trainit doct", "trainit doctor"},
      {"trainit --rank-table-t", "trainit --rank-table-timeout"},
      {"trainit run --output te", "trainit run --output tee"},
      {"trainit run --output=te", "trainit run --output=tee"},
      {"trainit cache g", "trainit cache gc"},
      {"trainit cache gc --dry", "trainit cache gc --dry-run"},
      {"trainit hostfile convert --to open", "trainit hostfile convert --to openmpi"},
      {"trainit copy --grac", "trainit copy --grac>"},
      {"trainit doctor --only gpu,dis", "trainit doctor --only gpu,disk"},
      {"trainit reference fi", "trainit reference fish"},
      {"trainit help sand", "trainit help sandbox"}};
  Words argv = {"/usr/bin/zsh", "-f", script, file};
  for (const auto& [line, completed] : lines) argv.push_back(line);
  const std::string shown = program(argv).out;
  for (const auto& [line, completed] : lines) {
    EXPECT_THAT(shown, HasSubstr("<" + completed)) << line;
  }
}

TEST_F(Reference, FishCompletes) {
  if (!std::filesystem::exists("/usr/bin/fish")) GTEST_SKIP() << "there is no fish";
  const std::string file = write("trainit.fish", form("fish"));
  // The words without their texts, each in parentheses.
  const auto complete = [&](const std::string& line) {
    const Result result = program({"/usr/bin/fish", "--no-config", "-c",
                                   "source " + file + "; complete -C '" + line +
                                       "' | string replace -r '\\t.*' '' | string join ' '"});
    EXPECT_EQ(result.err, "") << line;
    return result.out;
  };
  EXPECT_THAT(complete("trainit "), AllOf(HasSubstr("status"), Not(HasSubstr("printf"))));
  EXPECT_EQ(complete("trainit doct"), "doctor\n");
  EXPECT_EQ(complete("trainit --rank-table-t"), "--rank-table-timeout\n");
  EXPECT_EQ(complete("trainit run --output te"), "tee\n");
  EXPECT_EQ(complete("trainit run --output=te"), "--output=tee\n");
  EXPECT_EQ(complete("trainit cache g"), "gc\n");
  EXPECT_EQ(complete("trainit cache gc --dry"), "--dry-run\n");
  EXPECT_EQ(complete("trainit hostfile convert --to open"), "openmpi\n");
  EXPECT_EQ(complete("trainit copy --grac"), "");
  EXPECT_EQ(complete("trainit doctor --only gpu,dis"), "gpu,disk\n");
  EXPECT_EQ(complete("trainit reference fi"), "fish\n");
  EXPECT_EQ(complete("trainit help sand"), "sandbox\n");
  EXPECT_EQ(complete("trainit plan --grace 8s cat --rank-t"), "") << "the command's own";
  EXPECT_THAT(complete("trainit run pri"), HasSubstr("printf"));
  EXPECT_THAT(complete("trainit run "), HasSubstr("printf"));
  EXPECT_THAT(complete("trainit pri"), HasSubstr("printf"));
  const std::string made = file + ".made";
  EXPECT_EQ(complete("trainit run (touch " + made + ")"), "") << "what is typed is not run";
  EXPECT_EQ(complete("trainit \"$(touch " + made + ")"), "");
  EXPECT_FALSE(std::filesystem::exists(made));
}

// Two parts of the page: the commands, and the tables of the options.
// TRAINIT_UPDATE_GOLDEN=1 writes them anew.
TEST_F(Reference, TablesOfTheDocumentAreThese) {
  const std::string page = source_path("docs/reference.md");
  std::string text = read(page);
  const std::string tables = form("markdown");
  const bool rewrites = std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr;
  const std::size_t options = tables.find("\n### ");
  ASSERT_NE(options, std::string::npos);
  struct Part {
    std::string begin;
    std::string end;
    std::string wanted;
  };
  for (const Part& part :
       {Part{"| command | what it does |\n", "\n`trainit help", tables.substr(0, options)},
        {"### Platform, framework and nodes\n", "\n\nA DURATION is a number",
         tables.substr(options + 1)}}) {
    const std::size_t begin = text.find(part.begin);
    ASSERT_NE(begin, std::string::npos) << part.begin;
    const std::size_t end = text.find(part.end, begin);
    ASSERT_NE(end, std::string::npos) << part.end;
    const std::size_t size = end - begin + (part.end.starts_with("\n\n") ? 1 : 0);
    if (!rewrites) {
      EXPECT_EQ(text.substr(begin, size), part.wanted);
    }
    text.replace(begin, size, part.wanted);
  }
  if (rewrites) std::ofstream(page) << text;
}

TEST_F(Reference, SaysWhatItHas) {
  for (const Words& args : {Words{"reference"}, {"reference", "html"}, {"reference", "man", "x"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("man, markdown, bash, zsh or fish"));
  }
  EXPECT_THAT(tool({"reference", "--help"}).out, HasSubstr("bash-completion"));
}

}  // namespace
