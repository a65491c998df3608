// The lists that options take, and what is said of a list that is refused.

#include <gmock/gmock.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "init/cli/options.h"
#include "init/cli/values/kinds.h"

namespace {

using base::CodeRange;
using base::SignalRule;
using cli::parse_fatal_hooks;
using cli::parse_hook_times;
using cli::parse_signal_map;
using envgen::HookEvent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = SignalRule::Kind;

std::string error_of(const std::vector<std::string>& arguments) {
  auto options = cli::parse_options(arguments, {});
  return options ? "" : to_line(options.error());
}

// --- Numbers ---

TEST(Numbers, AreTakenUpToTheirBounds) {
  struct Case {
    const char* flag;
    std::vector<std::string> good;
    std::vector<std::string> bad;
  };
  const Case cases[] = {
      {"--nodes=", {"1", "1000000"}, {"0", "1000001"}},
      {"--master-port=", {"1", "65535"}, {"0", "65536"}},
      {"--node-rank=", {"0", "2147483647"}, {"-1", "2147483648"}},
      {"--max-restarts=", {"0", "1000000"}, {"-1", "1000001"}},
      {"--log-keep=", {"0", "1000"}, {"-1", "1001"}},
      {"--log-max-size=", {"0", "4096"}, {"4095"}},
      {"--nice=", {"-20", "19"}, {"-21", "20"}},
      {"--oom-score-adj=", {"-1000", "1000"}, {"-1001", "1001"}},
      {"--umask=", {"0", "777"}, {"1000", "-1"}},
      {"--perf-threshold=", {"0.000001", "100"}, {"0", "100.000001"}},
      {"--data-workers=", {"0", "64"}, {"-1", "65"}},
      {"--data-headroom=", {"0", "0%", "100%"}, {"-1%", "101%"}},
      {"--exit-codes=", {"0=255", "255=0", "7-7=1"}, {"256=0", "0=256", "2-1=0", "-1=0"}},
      {"--no-restart-on=", {"0-255"}, {"0-256", "2-1"}},
  };
  for (const Case& one : cases) {
    for (const std::string& text : one.good) EXPECT_EQ(error_of({one.flag + text, "train"}), "");
    for (const std::string& text : one.bad) {
      EXPECT_THAT(error_of({one.flag + text, "train"}), HasSubstr("found \"" + text + '"'));
    }
  }
}

// The highest means "as it is" to chown.
TEST(Owner, IsAnIdThatAFileCanHave) {
  EXPECT_TRUE(cli::parse_owner("0:4294967294"));
  for (const char* bad : {"4294967295:0", "0:4294967295", "0", "0:", ":0", "-1:0", "root:root"}) {
    EXPECT_FALSE(cli::parse_owner(bad)) << bad;
  }
}

// --- Sizes ---

TEST(Size, HasAUnitOfPowersOf1024) {
  EXPECT_EQ(cli::parse_size("64k", 4096), 65536);
  EXPECT_EQ(cli::parse_size("100M", 4096), 100 << 20);
  EXPECT_EQ(cli::parse_size("2g", 4096), 2LL << 30);
  EXPECT_EQ(cli::parse_size("5000", 4096), 5000);
  EXPECT_EQ(cli::parse_size("0", 4096), 0);
}

TEST(Size, IsNothingElse) {
  for (const char* bad : {"", "k", "4095", "-1k", "1.5g", "1 k", "1kb", "9223372036854775807",
                          "9223372036854775807t", "2000t"}) {
    EXPECT_FALSE(cli::parse_size(bad, 4096)) << bad;
  }
}

// --- Durations ---

TEST(Duration, HasAUnit) {
  EXPECT_EQ(cli::parse_duration_ms("500ms"), 500);
  EXPECT_EQ(cli::parse_duration_ms("8s"), 8000);
  EXPECT_EQ(cli::parse_duration_ms("30m"), 30 * 60'000);
  EXPECT_EQ(cli::parse_duration_ms("2h"), 2 * 3'600'000);
  EXPECT_EQ(cli::parse_duration_ms("1d"), 86'400'000);
}

TEST(Duration, IsInSecondsWithoutOne) {
  EXPECT_EQ(cli::parse_duration_ms("0"), 0);
  EXPECT_EQ(cli::parse_duration_ms("90"), 90'000);
}

TEST(Duration, IsAYearAtMost) {
  EXPECT_EQ(cli::parse_duration_ms("366d"), 366LL * 86'400'000);
  EXPECT_EQ(cli::parse_duration_ms("31622400000ms"), 366LL * 86'400'000);
  EXPECT_FALSE(cli::parse_duration_ms("367d"));
  EXPECT_FALSE(cli::parse_duration_ms("31622400001ms"));
  for (const char* option :
       {"--grace=367d", "--checkpoint-timeout=367d", "--health-interval=9999d"}) {
    EXPECT_THAT(error_of({option, "train"}), HasSubstr("at most 366d")) << option;
  }
}

TEST(Duration, DoesNotOverflow) {
  EXPECT_FALSE(cli::parse_duration_ms("9223372036854775807"));
  EXPECT_FALSE(cli::parse_duration_ms("9223372036854775807d"));
  EXPECT_FALSE(cli::parse_duration_ms("99999999999999999999999ms"));
}

TEST(Duration, IsNothingElse) {
  for (const char* bad : {"", "s", "ms", "-1s", "+1s", "1.5h", "1 s", " 1s", "1s ", "1S", "1w",
                          "0x1", "1h30m", "inf", "١s"}) {
    EXPECT_FALSE(cli::parse_duration_ms(bad)) << bad;
  }
}

// --- Signals ---

TEST(SignalMap, SaysWhatEachSignalBecomes) {
  auto rules =
      parse_signal_map("TERM=INT,sigusr1=checkpoint,12=file:/run/save,HUP=none,INT=forward");
  ASSERT_TRUE(rules) << rules.error();
  EXPECT_THAT(*rules, ElementsAre(SignalRule{SIGTERM, Kind::kSignal, SIGINT, ""},
                                  SignalRule{SIGUSR1, Kind::kCheckpoint, 0, ""},
                                  SignalRule{SIGUSR2, Kind::kFile, 0, "/run/save"},
                                  SignalRule{SIGHUP, Kind::kNothing, 0, ""},
                                  SignalRule{SIGINT, Kind::kForward, 0, ""}));
}

TEST(SignalMap, KnowsRealTimeSignals) {
  auto rules = parse_signal_map("RTMIN+3=RTMAX");
  ASSERT_TRUE(rules) << rules.error();
  EXPECT_THAT(*rules, ElementsAre(SignalRule{SIGRTMIN + 3, Kind::kSignal, SIGRTMAX, ""}));
}

TEST(SignalMap, MayEndAnythingWithAnyOtherSignal) {
  EXPECT_TRUE(parse_signal_map("TERM=KILL,USR1=TERM,INT=TERM,QUIT=STOP"));
}

TEST(SignalMap, NamesThePartThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"TERM=INT,TREM=HUP", R"("TREM" is no signal)"},
      {"TERM=INT,USR1=chekpoint", R"("chekpoint" is no signal)"},
      {"TERM", R"("TERM" has no "=")"},
      {"TERM=INT,", R"("" has no "=")"},
      {"=INT", R"("" is no signal)"},
      {"TERM=", R"("" is no signal)"},
      {"TERM=INT,15=HUP", "SIGTERM stands there twice"},
      {"KILL=TERM", R"("KILL" never reaches a process)"},
      {"SIGSTOP=TERM", R"("SIGSTOP" never reaches a process)"},
      {"CHLD=TERM", R"("CHLD" is trainit's own)"},
      {"0=TERM", R"("0" is no signal)"},
      {"65=TERM", R"("65" is no signal)"},
      {"USR2=file:run/save", R"("run/save" is no absolute path)"},
      {"USR2=file:", R"("" is no absolute path)"},
      {"USR2=file:/", R"("/" is no absolute path)"},
      {"TERM = INT", R"("TERM " is no signal)"},
  };
  for (const auto& [text, reason] : cases) {
    auto rules = parse_signal_map(text);
    ASSERT_FALSE(rules) << text;
    EXPECT_THAT(rules.error(), HasSubstr(reason)) << text;
  }
}

TEST(SignalMap, TellsWhatWasFoundAndWhatToGive) {
  EXPECT_EQ(
      error_of({"--signal=TERM=INT,TREM=HUP", "train"}),
      "reading the options: --signal: found \"TERM=INT,TREM=HUP\", where \"TREM\" is no "
      "signal; give a list of SIGNAL=SIGNAL, =forward, =checkpoint, =file:/PATH or =none, each "
      "signal once");
}

TEST(CheckpointSignal, IsOneThatAProcessCanAnswer) {
  EXPECT_EQ(cli::parse_signal_or_none("USR2"), SIGUSR2);
  EXPECT_EQ(cli::parse_signal_or_none("none"), 0);
  for (const char* bad : {"KILL", "STOP", "", "0", "NONE", "SIGSAVE"}) {
    EXPECT_FALSE(cli::parse_signal_or_none(bad)) << bad;
  }
}

// --- Hooks ---

std::optional<std::int64_t> time_of(const envgen::HookTimes& times, HookEvent event) {
  return times.at(static_cast<std::size_t>(event));
}

TEST(HookTimeout, IsThatOfEveryEventOrOfNamedOnes) {
  const auto all = parse_hook_times("30s");
  ASSERT_TRUE(all) << all.error();
  EXPECT_THAT(*all, testing::Each(std::optional<std::int64_t>(30'000)));

  const auto some = parse_hook_times("pre-start=10m,on-failure=500ms");
  ASSERT_TRUE(some) << some.error();
  EXPECT_EQ(time_of(*some, HookEvent::kPreStart), 600'000);
  EXPECT_EQ(time_of(*some, HookEvent::kOnFailure), 500);
  for (HookEvent unset :
       {HookEvent::kPostStart, HookEvent::kPreStop, HookEvent::kPostStop, HookEvent::kCheckpoint}) {
    EXPECT_FALSE(time_of(*some, unset)) << name_of(unset);
  }
}

TEST(HookTimeout, NamesThePartThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", R"("" is no duration)"},
      {"0", R"("0" is no duration)"},
      {"soon", R"("soon" is no duration)"},
      {"pre-start=1m,prestart=1m", R"("prestart" is no event)"},
      {"pre-start=1m,1m", R"("1m" is no event)"},
      {"pre-start=", R"("" is no duration)"},
      {"pre-start=0s", R"("0s" is no duration)"},
      {"pre-start=1m,pre-start=2m", "pre-start stands there twice"},
  };
  for (const auto& [text, reason] : cases) {
    auto times = parse_hook_times(text);
    ASSERT_FALSE(times) << text;
    EXPECT_THAT(times.error(), HasSubstr(reason)) << text;
  }
}

TEST(FatalHooksOption, AreThoseBeforeTheJobIsOnItsWay) {
  EXPECT_THAT(*parse_fatal_hooks("pre-start"), ElementsAre(HookEvent::kPreStart));
  EXPECT_THAT(*parse_fatal_hooks("post-start,pre-start,post-start"),
              ElementsAre(HookEvent::kPostStart, HookEvent::kPreStart));
  EXPECT_THAT(*parse_fatal_hooks("none"), IsEmpty());
}

TEST(FatalHooksOption, AreNoneOfAJobThatEndsAnyway) {
  for (const char* event : {"pre-stop", "post-stop", "checkpoint", "on-failure"}) {
    auto events = parse_fatal_hooks(std::string("pre-start,") + event);
    ASSERT_FALSE(events) << event;
    EXPECT_THAT(events.error(), HasSubstr(std::string(event) + " hooks cannot end the job"));
  }
  EXPECT_THAT(parse_fatal_hooks("pre-start,none").error(), HasSubstr(R"("none" is no event)"));
  EXPECT_THAT(parse_fatal_hooks("").error(), HasSubstr(R"("" is no event)"));
}

// --- Exit codes ---

TEST(CodeRanges, AreCodesAndRangesOfThem) {
  EXPECT_THAT(*cli::parse_code_ranges("1-2,126"),
              ElementsAre(CodeRange{1, 2}, CodeRange{126, 126}));
  for (const char* bad : {"", "1,", "2-1", "256", "-1", "1-", "a", "1-2-3", " 1"}) {
    EXPECT_FALSE(cli::parse_code_ranges(bad)) << bad;
  }
}

// --- Words ---

TEST(Words, AreToldByTheListThatTheyAreReadBy) {
  EXPECT_THAT(error_of({"--torch-launcher=x"}), HasSubstr("give torchrun, launch or fan-out"));
  EXPECT_THAT(error_of({"--log-format=x"}), HasSubstr("give human or json"));
  EXPECT_THAT(error_of({"--platform="}), HasSubstr("give modelarts, dlc, "));
}

// --- The terminal ---

std::string terminal_of(const std::vector<std::string>& arguments) {
  auto options = cli::parse_options(arguments, {});
  return options ? options->request.terminal : to_line(options.error());
}

TEST(Terminal, IsSshdOrACommandLine) {
  EXPECT_EQ(terminal_of({"train"}), "");
  EXPECT_EQ(terminal_of({"--terminal", "train"}), "1");
  EXPECT_EQ(terminal_of({"--terminal=on", "train"}), "1");
  EXPECT_EQ(terminal_of({"--terminal=no", "train"}), "0");
  EXPECT_EQ(terminal_of({"--terminal=ttyd -p 7681 bash", "train"}), "ttyd -p 7681 bash");
}

}  // namespace
