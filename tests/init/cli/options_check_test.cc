// Options that contradict each other, as flags and as variables.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "init/cli/options.h"

namespace {

using base::Environ;
using envgen::Request;
using testing::AllOf;
using testing::HasSubstr;

using Words = std::vector<std::string>;

base::Result<Request> checked(const Words& arguments, Words variables = {}) {
  const Environ env(std::move(variables));
  auto options = cli::parse_options(arguments, env);
  if (!options) return std::unexpected(options.error());
  if (auto status = cli::check_options(*options, env); !status) {
    return std::unexpected(status.error());
  }
  return options->request;
}

std::string error_of(const Words& arguments, Words variables = {}) {
  auto request = checked(arguments, std::move(variables));
  return request ? "" : to_line(request.error());
}

Request request_of(const Words& arguments, Words variables = {}) {
  auto request = checked(arguments, std::move(variables));
  if (!request) ADD_FAILURE() << to_line(request.error());
  return request ? *request : Request{};
}

// --- Restarts, or checkpoint and continue ---

TEST(CheckOptions, RestartsAndCheckpointsExcludeEachOther) {
  for (const char* other :
       {"--signal=USR1=checkpoint", "--checkpoint-signal=USR2", "--checkpoint-timeout=1m"}) {
    const std::string error = error_of({"--max-restarts=3", other, "train"});
    const std::string name(other, std::string_view(other).find('='));
    EXPECT_THAT(error, AllOf(HasSubstr("--max-restarts: found " + name), HasSubstr("choose:")));
  }
  EXPECT_THAT(error_of({"train"}, {"TRAINIT_MAX_RESTARTS=3", "TRAINIT_SIGNAL=USR1=checkpoint"}),
              HasSubstr("TRAINIT_MAX_RESTARTS: found TRAINIT_SIGNAL USR1=checkpoint"));
}

// --- Data ---

TEST(CheckOptions, WhatIsAskedOfACopyNeedsSomethingToCopy) {
  for (const char* flag :
       {"--data-root=/c", "--data-version=1", "--include=*", "--exclude=*", "--verify", "--durable",
        "--data-link", "--data-on-failure=fail", "--data-timeout=1h", "--data-workers=2",
        "--data-headroom=1g", "--cache-ttl=1d", "--cache-max-size=1t"}) {
    EXPECT_THAT(error_of({flag, "train"}), HasSubstr("without --data; give --data too"));
    EXPECT_EQ(error_of({flag, "--data=/d", "train"}), "");
  }
  EXPECT_EQ(error_of({"train"}, {"TRAINIT_DATA_ROOT=/c", "TRAINIT_VERIFY=1"}), "")
      << "the default of an image, for the jobs that have datasets";
  EXPECT_EQ(error_of({"--data-root=/c", "train"}, {"TRAINIT_DATA="}), "") << "it has none, as said";
}

TEST(CheckOptions, DatasetsAndPatternsAreReadBeforeAnythingStarts) {
  EXPECT_THAT(error_of({"--data=imagenet", "train"}), HasSubstr("a relative path"));
  EXPECT_THAT(error_of({"--data=/d", "--data=/e=/d", "train"}), HasSubstr("overlaps /d"));
  EXPECT_THAT(error_of({"--data=/d", "--include=[a", "train"}), HasSubstr("[a"));
}

TEST(CheckOptions, OldLogFilesAreKeptWhereNewOnesAreBegun) {
  EXPECT_THAT(error_of({"--log-keep=5", "train"}), HasSubstr("--log-max-size"));
  const Request request =
      request_of({"--log-keep=5", "--log-max-size=64k", "--output=tee", "--log-prefix=0", "train"});
  EXPECT_EQ(request.observe.log_keep, 5);
  EXPECT_EQ(request.observe.log_max_bytes, 65536);
  EXPECT_EQ(request.output, envgen::Output::kTee);
  EXPECT_EQ(request.log_prefix, false);
}

TEST(CheckOptions, OtherSignalsGoWithRestarts) {
  const Request request = request_of({"--max-restarts=3", "--signal=TERM=INT,HUP=none", "train"});
  EXPECT_EQ(request.max_restarts, 3);
  EXPECT_EQ(request.policy.signals.size(), 2U);
}

TEST(CheckOptions, NoRestartsGoWithCheckpoints) {
  EXPECT_EQ(error_of({"--max-restarts=0", "--signal=USR1=checkpoint", "train"}), "");
}

TEST(CheckOptions, AFlagThatAsksForCheckpointsBeatsAnImagesRestarts) {
  for (const char* flag :
       {"--signal=USR1=checkpoint", "--checkpoint-signal=USR2", "--checkpoint-timeout=1m"}) {
    EXPECT_FALSE(request_of({flag, "train"}, {"TRAINIT_MAX_RESTARTS=3"}).max_restarts) << flag;
  }
}

TEST(CheckOptions, AFlagThatAsksForRestartsBeatsAnImagesCheckpointTimeAndSignal) {
  const Request request =
      request_of({"--max-restarts=3", "train"},
                 {"TRAINIT_CHECKPOINT_TIMEOUT=1m", "TRAINIT_CHECKPOINT_SIGNAL=USR2"});
  EXPECT_EQ(request.max_restarts, 3);
  EXPECT_EQ(request.policy.checkpoint_ms, base::Policy{}.checkpoint_ms);
  EXPECT_FALSE(request.checkpoint_signal);
}

// The platform goes on sending it.
TEST(CheckOptions, ASignalOfThePlatformIsNotUnmappedBehindItsBack) {
  EXPECT_THAT(error_of({"--max-restarts=3", "train"}, {"TRAINIT_SIGNAL=USR1=checkpoint"}),
              AllOf(HasSubstr("--max-restarts: found TRAINIT_SIGNAL USR1=checkpoint"),
                    HasSubstr("a --signal without checkpoint")));
  EXPECT_EQ(error_of({"--max-restarts=3", "--signal=USR1=none", "train"},
                     {"TRAINIT_SIGNAL=USR1=checkpoint"}),
            "");
}

// --- Watches ---

TEST(CheckOptions, ToRescheduleASlowJobExcludesItsRestarts) {
  EXPECT_THAT(
      error_of({"--perf-threshold=0.5", "--perf-policy=reschedule", "--max-restarts=1", "train"}),
      AllOf(HasSubstr("--perf-policy"), HasSubstr("choose:")));
  const Request flag = request_of({"--perf-threshold=0.5", "--perf-policy=reschedule", "train"},
                                  {"TRAINIT_MAX_RESTARTS=1"});
  EXPECT_FALSE(flag.max_restarts);
  EXPECT_TRUE(flag.observe.perf_reschedules);
  const Request variable = request_of({"--perf-threshold=0.5", "--max-restarts=1", "train"},
                                      {"TRAINIT_PERF_POLICY=reschedule"});
  EXPECT_EQ(variable.max_restarts, 1);
  EXPECT_FALSE(variable.observe.perf_reschedules);
  EXPECT_EQ(error_of({"--perf-threshold=0.5", "--max-restarts=1", "train"}), "");
}

TEST(CheckOptions, WhatDescribesAWatchNeedsIt) {
  for (const char* option :
       {"--perf-policy=reschedule", "--perf-pattern=x {hardware} {e2e}", "--perf-count=3"}) {
    EXPECT_THAT(error_of({option, "train"}), HasSubstr("without --perf-threshold")) << option;
  }
  for (const char* option : {"--stall-on=output", "--stall-action=end"}) {
    EXPECT_THAT(error_of({option, "train"}), HasSubstr("without --stall-timeout")) << option;
  }
}

TEST(CheckOptions, ValuesOfTheWatches) {
  const Request request =
      request_of({"--perf-threshold=0.75", "--perf-count=2", "--stall-timeout=30m",
                  "--stall-on=output", "--stall-action=end", "--health-interval=0",
                  "--health-checks=disk,gpu", "--health-failures=5", "train"});
  EXPECT_EQ(request.observe.perf_threshold_ppm, 750'000);
  EXPECT_EQ(request.observe.stall_ms, 1'800'000);
  EXPECT_TRUE(request.observe.stall_by_output && request.observe.stall_ends);
  EXPECT_LT(request.observe.health_interval_ms, 0) << "never, which is not: as it comes";
  EXPECT_EQ(request.observe.health_failures, 5);
  EXPECT_THAT(error_of({"--perf-threshold=0", "train"}), HasSubstr("a ratio above 0"));
  EXPECT_THAT(error_of({"--perf-pattern=no numbers", "train"}), HasSubstr("none of {hardware}"));
  EXPECT_THAT(error_of({"--progress=step {stp}", "train"}), HasSubstr("{stp} is none of {step}"));
  EXPECT_THAT(error_of({"--progress={step}", "train"}), HasSubstr("no text before"));
  EXPECT_THAT(error_of({"--progress=", "train"}), HasSubstr("--progress"));
  EXPECT_THAT(
      request_of({"--progress=step {step}", "--progress=saved {saved}", "train"}).observe.progress,
      testing::ElementsAre("step {step}", "saved {saved}"));
  EXPECT_THAT(error_of({"--health-checks=horoscope", "train"}),
              HasSubstr("all, or a list of plan, "));
}

// --- Options that need another one ---

TEST(CheckOptions, AnOptionThatDoesNothingWithoutAnotherOneSaysWhich) {
  const std::pair<const char*, const char*> cases[] = {
      {"--min-nodes=2", "--min-nodes: found 2 without --elastic; give --elastic too"},
      {"--restart-across-nodes",
       "--restart-across-nodes: found 1 without --max-restarts or --elastic"},
      {"--no-restart-on=1-2", "--no-restart-on: found 1-2 without --max-restarts"},
      {"--restart-verdict=off", "--restart-verdict: found off without --max-restarts"},
      {"--restart-delay=5s", "--restart-delay: found 5s without --max-restarts"},
      {"--device-wait=5s", "--device-wait: found 5s without --max-restarts or --elastic"},
      {"--restart-window=1m",
       "--restart-window: found 1m without --restart-across-nodes or --elastic"},
  };
  for (const auto& [flag, text] : cases) {
    EXPECT_THAT(error_of({flag, "train"}), HasSubstr(text));
    EXPECT_EQ(error_of({flag, "--max-restarts=1", "--elastic", "train"}), "") << flag;
  }
}

TEST(CheckOptions, TheVariableOfSuchAnOptionWaitsForTheOtherOne) {
  for (const char* variable :
       {"TRAINIT_MIN_NODES=2", "TRAINIT_NO_RESTART_ON=1-2", "TRAINIT_RESTART_DELAY=5s",
        "TRAINIT_RESTART_VERDICT=tell", "TRAINIT_RESTART_WINDOW=1m", "TRAINIT_DEVICE_WAIT=5s",
        "TRAINIT_RESTART_ACROSS_NODES=1", "TRAINIT_LOG_KEEP=5", "TRAINIT_PERF_COUNT=3",
        "TRAINIT_PERF_POLICY=reschedule", "TRAINIT_STALL_ACTION=end", "TRAINIT_STALL_ON=output",
        "TRAINIT_CACHE_TTL=1d"}) {
    EXPECT_EQ(error_of({"train"}, {variable}), "") << variable;
  }
  const Request alone = request_of({"train"}, {"TRAINIT_MIN_NODES=2"});
  EXPECT_FALSE(alone.min_nodes);
  const Request request = request_of({"--max-restarts=1", "train"},
                                     {"TRAINIT_NO_RESTART_ON=1-2", "TRAINIT_RESTART_DELAY=5s"});
  EXPECT_EQ(request.policy.restart_delay_ms, 5000);
  EXPECT_FALSE(request.policy.no_restart_on.empty());
}

TEST(CheckOptions, OfOptionsThatNeedAnotherOneEveryVariableWaits) {
  for (const cli::Option& option : cli::option_table()) {
    if (option.need == nullptr) continue;
    ASSERT_TRUE(cli::has_variable(option)) << option.name;
    cli::Options options;
    options.given.push_back({option.name, cli::variable_name(option), "1", 0});
    EXPECT_TRUE(cli::check_options(options, {})) << option.name;
  }
}

TEST(CheckOptions, OneOfTwoIsEnough) {
  EXPECT_TRUE(request_of({"--restart-across-nodes", "--elastic", "x"}).restart_across_nodes);
  EXPECT_TRUE(request_of({"--restart-across-nodes", "--max-restarts=1", "x"}).restart_across_nodes);
  EXPECT_EQ(error_of({"--restart-across-nodes=0", "train"}), "");
}

TEST(CheckOptions, WhatIsTurnedOffTakesItsVariablesWithIt) {
  const Request fixed =
      request_of({"--elastic=0", "train"}, {"TRAINIT_ELASTIC=1", "TRAINIT_MIN_NODES=2"});
  EXPECT_FALSE(fixed.policy.elastic);
  EXPECT_FALSE(fixed.min_nodes);
  const Request once = request_of({"--max-restarts=0", "train"},
                                  {"TRAINIT_MAX_RESTARTS=3", "TRAINIT_RESTART_DELAY=5s",
                                   "TRAINIT_NO_RESTART_ON=1", "TRAINIT_RESTART_ACROSS_NODES=1"});
  EXPECT_EQ(once.max_restarts, 0);
  EXPECT_FALSE(once.restart_across_nodes);
}

TEST(CheckOptions, WhatIsTurnedOffBesideItIsMeantToDoNothing) {
  EXPECT_EQ(error_of({"--elastic=0", "--min-nodes=2", "train"}), "");
  EXPECT_EQ(error_of({"train"}, {"TRAINIT_MAX_RESTARTS=0", "TRAINIT_RESTART_DELAY=5s"}), "");
  EXPECT_EQ(error_of({"--log-keep=5", "--log-max-size=0", "train"}), "");
}

TEST(CheckOptions, AVariableThatTurnsOffDoesNotSilenceAFlag) {
  EXPECT_THAT(error_of({"--min-nodes=2", "train"}, {"TRAINIT_ELASTIC=0"}),
              HasSubstr("--min-nodes: found 2 without --elastic"));
}

// --- The framework ---

TEST(CheckOptions, FanOutIsForPytorchAlone) {
  EXPECT_THAT(error_of({"--fan-out", "--framework=mpi", "train"}),
              AllOf(HasSubstr("--fan-out: found --framework mpi beside it"),
                    HasSubstr("leave one of them out")));
  EXPECT_THAT(error_of({"--framework=mpi", "--fan-out", "train"}), HasSubstr("--framework mpi"));
  EXPECT_EQ(error_of({"--fan-out", "--framework=pytorch", "train"}), "");
  EXPECT_EQ(error_of({"--fan-out=0", "--framework=mpi", "train"}), "");
}

TEST(CheckOptions, OfAFanOutAndAFrameworkTheFlagCounts) {
  EXPECT_EQ(request_of({"--fan-out", "train"}, {"TRAINIT_FRAMEWORK=mpi"}).framework, "pytorch");
  EXPECT_EQ(request_of({"--framework=mpi", "train"}, {"TRAINIT_FAN_OUT=1"}).framework, "mpi");
}

// --- The grace ---

TEST(CheckOptions, ADrainLeavesTheJobSomethingOfTheGrace) {
  EXPECT_EQ(error_of({"--drain=5s", "--grace=5s", "train"}),
            "reading the options: --drain: found 5 s, and --grace is 5 s; give a longer --grace or "
            "a shorter --drain: the drain is part of the grace");
  EXPECT_EQ(error_of({"--drain=4999ms", "--grace=5s", "train"}), "");
  EXPECT_EQ(error_of({"--drain=0", "--grace=0", "train"}), "");
}

TEST(CheckOptions, ADrainIsComparedWithThePlatformsGrace) {
  EXPECT_THAT(error_of({"--drain=10s", "train"}), HasSubstr("found 10 s, and the grace is 8 s"));
  EXPECT_EQ(error_of({"--drain=10s", "train"}, {"KUBERNETES_SERVICE_HOST=10.0.0.1"}), "");
  EXPECT_THAT(error_of({"--grace=2s", "train"}, {"TRAINIT_DRAIN=3s"}),
              HasSubstr("TRAINIT_DRAIN: found 3 s, and --grace is 2 s"));
}

// --- What is no contradiction ---

TEST(CheckOptions, ATerminalMayGoWithoutADebugWindow) {
  const Request request = request_of({"--terminal", "--hold=0", "train"});
  EXPECT_EQ(request.hold_ms, 0);
  EXPECT_EQ(request.terminal, "1");
}

// Flags on top of a snapshot's are stronger than those.
TEST(CheckOptions, AFlagOnTopOfEarlierFlagsBeatsThem) {
  const Environ env;
  const Words saved = {"--max-restarts=3", "train"};
  const Words later = {"--signal=USR1=checkpoint"};
  auto options = cli::parse_options(saved, env);
  ASSERT_TRUE(options);
  ASSERT_TRUE(cli::parse_arguments(later, *options));
  ASSERT_TRUE(cli::check_options(*options, env));
  EXPECT_FALSE(options->request.max_restarts);
}

// The variables of a job are not whole without its flags, and `trainit status` has none of them.
TEST(CheckOptions, AreNotCheckedByWhoOnlyReadsThem) {
  EXPECT_TRUE(cli::parse_options(Words{}, Environ({"TRAINIT_MIN_NODES=2", "TRAINIT_DRAIN=1h"})));
}

}  // namespace
