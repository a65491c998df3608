// What help shows, and that it fits the screen.

#include "init/cli/help.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "init/cli/options.h"

namespace {

using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Help, IsOneScreen) {
  const auto lines = lines_of(cli::usage());
  EXPECT_LE(lines.size(), 40U);
  const auto common = std::ranges::count_if(cli::option_table(), &cli::Option::common);
  EXPECT_LE(common, 10);
  EXPECT_GE(common, 8);
}

TEST(Help, IsNowhereWiderThanTheScreen) {
  for (const std::string& line : lines_of(cli::all_help())) {
    EXPECT_LE(line.size(), cli::kScreenColumns) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(Help, OfAllHasEachOptionAndCommandForPeople) {
  const std::string all = cli::all_help();
  for (const cli::Option& option : cli::option_table()) {
    if ((option.commands & ~cli::kPeer) == 0 || option.commands == cli::kAll) continue;
    EXPECT_THAT(all, HasSubstr(" " + cli::flag_of(option)));
  }
  for (const cli::Command& command : cli::command_table()) {
    if (command.help.empty()) continue;
    EXPECT_THAT(all, HasSubstr(cli::line_of(command) + "\n"));
  }
}

TEST(Help, OfACommandHasItsOwnOptionsAndAnExample) {
  for (const cli::Command& command : cli::command_table()) {
    if (command.help.empty()) continue;
    const std::string help = cli::command_help(cli::first_word(command));
    EXPECT_THAT(help, HasSubstr("As in:\n"));
    EXPECT_LE(lines_of(help).size(), 60U) << help;
    const bool waits_for_ranks = help.find("--rank-table-timeout") != std::string::npos;
    EXPECT_FALSE(waits_for_ranks) << "an option of a job: " << help;
  }
}

TEST(Help, OfEachTopicHasOptions) {
  for (const cli::Topic& topic : cli::topics()) {
    EXPECT_THAT(cli::topic_help(topic), HasSubstr("\n\n  --")) << topic.name;
    EXPECT_THAT(cli::usage(), HasSubstr(std::string(topic.name)));
    EXPECT_TRUE(cli::command_help(topic.name).empty()) << "a command has this name";
  }
}

// A default is told where there is one that is not "off".
TEST(Help, KnowsTheEarlierNameOfAnOption) {
  const std::string help = cli::option_help("log-reader-timeout");
  ASSERT_THAT(help, HasSubstr("--log-reader-timeout DURATION"));
  for (const char* name : {"log-patience", "--log-patience", "TRAINIT_LOG_PATIENCE"}) {
    EXPECT_EQ(cli::option_help(name), std::string(name) + " is an earlier name of\n" + help);
  }
}

TEST(Help, TellsValuesAndDefaults) {
  const auto topic = std::ranges::find(cli::topics(), "stop", &cli::Topic::name);
  ASSERT_NE(topic, cli::topics().end());
  const std::string help = cli::topic_help(*topic);
  EXPECT_THAT(help, HasSubstr("  --stop-scope WHOM                     TRAINIT_STOP_SCOPE\n"));
  EXPECT_THAT(help, HasSubstr("Takes main, group or tree. Default: main.\n"));
}

}  // namespace
