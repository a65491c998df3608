// reference: manual page, options and completion agree with the command line by construction; here,
// that the programs which read them take them.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "init/cli/commands.h"
#include "init/cli/options.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST_F(Reference, CompletionCompletes) {
  const std::string file = write("completion", form("bash"));
  const auto complete = [&](const std::string& words, int at) {
    return program({"/bin/bash", "-c",
                    ". " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                        "; _trainit; echo \"${COMPREPLY[*]}\""})
        .out;
  };
  EXPECT_EQ(complete("trainit doc", 1), "doctor\n");
  EXPECT_EQ(complete("trainit run --rank-table-t", 2), "--rank-table-timeout\n");
  EXPECT_EQ(complete("trainit --grace --he", 2), "\n") << "a duration, no option";
  EXPECT_EQ(complete("trainit copy --own", 2), "--owner\n");
  EXPECT_EQ(complete("trainit doctor --ju", 2), "--junit\n");
  EXPECT_EQ(complete("trainit doctor --rank-table-t", 2), "--rank-table-timeout\n");
  EXPECT_EQ(complete("trainit cache g", 2), "gc\n");
  EXPECT_EQ(complete("trainit -- --he", 2), "\n") << "the command's own";
}

// TRAINIT_UPDATE_GOLDEN=1 writes it anew.
TEST_F(Reference, OptionsOfTheDocumentAreThese) {
  const std::string page = std::string(TRAINIT_SOURCE_DIR) + "/docs/reference.md";
  const std::string text = read(page);
  const std::size_t begin = text.find("| option | variable | meaning |\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = text.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string table = form("markdown");
  if (std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(page) << text.substr(0, begin) << table << text.substr(end + 1);
    return;
  }
  EXPECT_EQ(text.substr(begin, end + 1 - begin), table);
}

TEST_F(Reference, DocumentHasEachCommand) {
  const std::string text = read(std::string(TRAINIT_SOURCE_DIR) + "/docs/reference.md");
  for (const cli::Command& command : cli::command_table()) {
    // The default; plans start them; not for people.
    if (command.bit == cli::kRun || (command.bit & cli::kPeer) != 0 || command.help.empty())
      continue;
    EXPECT_NE(text.find("trainit " + std::string(command.name) + ' '), std::string::npos)
        << command.name;
  }
}

TEST_F(Reference, SaysWhatItHas) {
  for (const Words& args : {Words{"reference"}, {"reference", "html"}, {"reference", "man", "x"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("man, markdown or bash"));
  }
  EXPECT_THAT(tool({"reference", "--help"}).out, HasSubstr("bash-completion"));
}

}  // namespace
