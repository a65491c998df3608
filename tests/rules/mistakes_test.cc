// Wrong usages: mistakes.txt has each command line, trainit's answer and the exit code.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/rules/job.h"
#include "tests/source_path.h"

namespace {

using rules::Result;

class Mistakes : public rules::JobTest {
 protected:
  void SetUp() override {
    JobTest::SetUp();
    std::filesystem::create_directory(path("bin"));
    std::filesystem::create_symlink(rules::trainit(), path("bin/trainit"));
    // Other programs of the machine could be what a misspelt name meant.
    for (const char* name :
         {"cat", "env", "false", "grep", "head", "python3", "sh", "sleep", "true"}) {
      std::filesystem::create_symlink("/usr/bin/" + std::string(name), path("bin/") + name);
    }
    write("train.py", "import os\n");
    write("noshebang.py", "import os\n");
    std::filesystem::permissions(path("noshebang.py"), std::filesystem::perms(0755));
    write("bad.json", "hello\n");
    write("hosts", "worker-0 slots=8\n");
  }

  // Returns the lines of the answer, and "exit N".
  [[nodiscard]] std::string answer(const std::string& line) const {
    const Result result =
        rules::run({.args = {"sh", "-c", "cd " + path("") + " && exec 2>&1; " + line},
                    .env = {"PATH=" + path("bin"), "TRAINIT_RUN_DIR=" + path("run"), "HOME=/root"},
                    .pid1 = false,
                    .program = "/bin/sh"});
    std::string text = result.out + result.err;
    text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\S+Z trainit)"), "trainit");
    for (std::size_t at = 0; (at = text.find(path(""), at)) != std::string::npos;) {
      text.replace(at, path("").size(), "DIR/");
    }
    return text + "exit " + std::to_string(result.code) + "\n";
  }
};

TEST_F(Mistakes, AreToldWithWhatToDo) {
  const std::string golden = source_path("tests/rules/mistakes.txt");
  std::istringstream lines(read(golden));
  std::string now;
  int count = 0;
  bool answers = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      now += line + "\n" + answer(line.substr(2)) + "\n";
      ++count;
      answers = true;
    } else if (!answers) {
      now += line + "\n";
    }
  }
  now.pop_back();
  EXPECT_GE(count, 250);
  if (std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << now;
    return;
  }
  EXPECT_EQ(now, read(golden));
}

}  // namespace
