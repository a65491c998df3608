// With which of our own variables a command is started before main() has read them: only with those
// that main() then takes as well, and by which nothing has to be resolved.

#include "init/early/early_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"

namespace {

using early::Option;
using testing::IsEmpty;
using Words = std::vector<std::string>;

constexpr const char* kNames[] = {"GRACE",     "STOP_SCOPE", "SECOND_TERM", "LOG_FORMAT",
                                  "LOG_LEVEL", "EXIT_CODES", "SIGNAL",      "ESCALATE"};

bool is_taken(const std::string& entry) { return early::option_of(entry.c_str()) != Option::kNone; }

// What main() would have done before it had started the command.
void expect_plain_start(const std::string& entry) {
  const base::Environ env({"PATH=/usr/bin", entry});
  const Words arguments = {"--", "/bin/true"};
  auto options = cli::parse_options(arguments, env);
  ASSERT_TRUE(options) << entry << ": " << to_line(options.error());
  EXPECT_TRUE(cli::check_options(*options, env)) << entry;
  EXPECT_THAT(cli::variable_warnings(env), IsEmpty()) << entry;
  EXPECT_TRUE(envgen::is_pass_through(env, options->request)) << entry;
  EXPECT_FALSE(options->parent_death_signal) << entry;
  EXPECT_NE(options->log_level, sys::log::Level::kDebug) << entry;
}

// All sequences of up to `most` of the parts.
void each_value(const Words& parts, int most, const std::string& begun,
                const std::function<void(const std::string&)>& take) {
  take(begun);
  if (most == 0) return;
  for (const std::string& part : parts) each_value(parts, most - 1, begun + part, take);
}

TEST(EarlyOptions, AreWhatMainWouldTake) {
  const Words parts = {"TERM", "INT",  "QUIT", "USR1", "none", "forward", "checkpoint", "=",  "@",
                       ",",    "-",    "1",    "255",  "256",  "0099",    "10s",        "ms", "m",
                       "h",    "main", "tree", "kill", "json", "warning", "debug",      " "};
  int taken = 0;
  for (const std::string name : kNames) {
    each_value(parts, 3, "", [&](const std::string& value) {
      const std::string entry = "TRAINIT_" + name + "=" + value;
      if (!is_taken(entry)) return;
      ++taken;
      expect_plain_start(entry);
    });
  }
  EXPECT_GT(taken, 50);
}

TEST(EarlyOptions, AreWhatMainWouldTakeInLists) {
  for (const auto& [name, parts] :
       {std::pair<std::string, Words>{"EXIT_CODES", {"143=0", "1-3=75", "9-1=2", "5=256", ","}},
        {"SIGNAL", {"TERM=QUIT", "TERM=INT", "HUP=none", "USR2=forward", "KILL=TERM", ","}},
        {"ESCALATE", {"INT@10s", "QUIT@500ms", "TERM@2m", "HUP@10s", ","}}}) {
    int taken = 0;
    each_value(parts, 5, "", [&](const std::string& value) {
      const std::string entry = "TRAINIT_" + name + "=" + value;
      if (!is_taken(entry)) return;
      ++taken;
      expect_plain_start(entry);
    });
    EXPECT_GT(taken, 5) << name;
  }
}

TEST(EarlyOptions, HaveTheirUsualValues) {
  for (const char* entry : {"TRAINIT_GRACE=28s", "TRAINIT_GRACE=500ms", "TRAINIT_GRACE=10m",
                            "TRAINIT_GRACE=", "TRAINIT_STOP_SCOPE=tree", "TRAINIT_SECOND_TERM=kill",
                            "TRAINIT_LOG_FORMAT=json", "TRAINIT_LOG_LEVEL=warning",
                            "TRAINIT_SIGNAL=TERM=QUIT,USR1=none"}) {
    EXPECT_EQ(early::option_of(entry), Option::kTaken) << entry;
  }
  // What the container ends with, and what is said of it, is main()'s.
  for (const char* entry : {"TRAINIT_EXIT_CODES=143=0,1-3=75", "TRAINIT_ESCALATE=INT@5s,QUIT@6s"}) {
    EXPECT_EQ(early::option_of(entry), Option::kTakenToTheEnd) << entry;
  }
}

TEST(EarlyOptions, AreNoOtherVariables) {
  for (const char* entry :
       {"PATH=/usr/bin", "GRACE=28s", "TRAINIT_GRACE", "TRAINIT_GRACES=1s", "TRAINIT_GRACE=8",
        "TRAINIT_GRACE=8h", "TRAINIT_GRACE=12345s", "TRAINIT_GRACE=-1s", "TRAINIT_GRACE=8s ",
        "TRAINIT_SIGNAL=USR1=checkpoint", "TRAINIT_SIGNAL=CHLD=TERM", "TRAINIT_LOG_LEVEL=debug",
        "TRAINIT_EXIT_CODES=0=256", "TRAINIT_ESCALATE=INT@5s,QUIT@5s", "TRAINIT_SLOTS=2", "",
        "="}) {
    EXPECT_EQ(early::option_of(entry), Option::kNone) << entry;
  }
}

// The command does not see them, as it sees none of an option's.
TEST(EarlyOptions, AreVariablesOfOptions) {
  for (const std::string name : kNames) {
    bool known = false;
    for (const cli::Option& option : cli::option_table()) {
      known =
          known || (cli::has_variable(option) && cli::variable_name(option) == "TRAINIT_" + name);
    }
    EXPECT_TRUE(known) << name;
  }
}

}  // namespace
