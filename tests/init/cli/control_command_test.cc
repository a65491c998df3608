// `trainit release`, `hold`, `extend` and `checkpoint`, each beside an instance that gives one
// answer.

#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <climits>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/engine/control/control_answers.h"
#include "tests/init/child.h"

namespace {

using engine::ControlAnswer;
using engine::ControlOp;
using engine::ControlReply;
using engine::ControlRequest;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

constexpr ControlAnswer kAnswers[] = {
    ControlAnswer::kDone,    ControlAnswer::kNotNow,       ControlAnswer::kRefused,
    ControlAnswer::kBusy,    ControlAnswer::kRestarts,     ControlAnswer::kNoLimit,
    ControlAnswer::kUnknown, ControlAnswer::kNoCheckpoint, ControlAnswer::kNothingSaved};

// --- The command line ---

base::Result<ControlRequest> parse(cli::Commands command, const Words& words) {
  const auto options = cli::parse_options(words, {}, command);
  if (!options) return std::unexpected(options.error());
  return cli::request_of(*options);
}

TEST(ControlRequestWords, NameADurationWithAndWithoutFor) {
  for (const auto& [command, op] :
       {std::pair(cli::kHold, ControlOp::kHold), std::pair(cli::kExtend, ControlOp::kExtend)}) {
    for (const Words& words :
         {Words{"2h"}, Words{"--for", "2h"}, Words{"--for=2h"}, Words{"--run-dir", "/r", "2h"}}) {
      const auto request = parse(command, words);
      ASSERT_TRUE(request) << to_line(request.error());
      EXPECT_EQ(request->op, op);
      EXPECT_EQ(request->argument_ms, 7200'000);
    }
  }
}

TEST(ControlRequestWords, AreRefusedWithoutADurationThatIsOne) {
  for (const auto& [command, name] :
       {std::pair(cli::kHold, "hold"), std::pair(cli::kExtend, "extend")}) {
    for (const Words& words :
         {Words{}, Words{"soon"}, Words{"367d"}, Words{"1s", "2h"}, Words{"--for", "1s", "2h"}}) {
      const auto request = parse(command, words);
      ASSERT_FALSE(request) << name << " " << testing::PrintToString(words);
      EXPECT_THAT(to_line(request.error()),
                  AllOf(HasSubstr(name), HasSubstr("at most 366d"), HasSubstr("--for 2h")));
    }
    for (const Words& words :
         {Words{"--for"}, Words{"--for", "-1h"}, Words{"--for", ""}, Words{"--for="},
          Words{"--for", "9223372036854775807"}, Words{"--for", "99999999999999999999h"},
          Words{"--for", "soon", "2h"}}) {
      const auto request = parse(command, words);
      ASSERT_FALSE(request) << name << " " << testing::PrintToString(words);
      EXPECT_THAT(to_line(request.error()), AllOf(HasSubstr("--for"), HasSubstr("a duration")));
    }
  }
}

TEST(ControlRequestWords, SayWhatIsLeft) {
  const auto request = parse(cli::kExtend, {"--left", "30m"});
  ASSERT_TRUE(request) << to_line(request.error());
  EXPECT_EQ(request->op, ControlOp::kExpireIn);
  EXPECT_EQ(request->argument_ms, 1800'000);
  for (const Words& words : {Words{"--left", "30m", "2h"}, Words{"--left", "30m", "--for", "2h"}}) {
    const auto both = parse(cli::kExtend, words);
    ASSERT_FALSE(both);
    EXPECT_THAT(to_line(both.error()), HasSubstr("--left"));
  }
  EXPECT_FALSE(parse(cli::kExtend, {"--left", "-1h"}));
  EXPECT_FALSE(parse(cli::kHold, {"--left", "1h"}));
}

TEST(ControlRequestWords, OfACheckpointMayKeepTheJobRunning) {
  EXPECT_EQ(parse(cli::kCheckpoint, {})->op, ControlOp::kCheckpoint);
  EXPECT_FALSE(parse(cli::kCheckpoint, {})->keep_running);
  EXPECT_TRUE(parse(cli::kCheckpoint, {"--keep-running"})->keep_running);
  EXPECT_FALSE(parse(cli::kRelease, {"--keep-running"}));
}

// --- What is said ---

const ControlRequest kRequests[] = {{.op = ControlOp::kRelease},
                                    {.op = ControlOp::kHold, .argument_ms = 7200'000},
                                    {.op = ControlOp::kExtend, .argument_ms = 7200'000},
                                    {.op = ControlOp::kCheckpoint},
                                    {.op = ControlOp::kCheckpoint, .keep_running = true},
                                    {.op = ControlOp::kExpireIn, .argument_ms = 1800'000}};

std::string said(const ControlRequest& request, const ControlReply& reply) {
  auto line = cli::describe_reply(request, reply, "/run/trainit");
  return line ? *line : to_line(line.error());
}

TEST(ControlReplyText, IsOneLineForEveryAnswerToEveryRequest) {
  for (const ControlRequest& request : kRequests) {
    for (const ControlAnswer answer : kAnswers) {
      for (const std::int64_t value : {std::int64_t{0}, std::int64_t{300'000}, INT64_MAX}) {
        const std::string line = said(request, {answer, value});
        EXPECT_GT(line.size(), 10U);
        EXPECT_EQ(std::ranges::count(line, '\n'), 0) << line;
      }
    }
  }
}

TEST(ControlReplyText, SaysWhenItWillBeOver) {
  EXPECT_EQ(said(kRequests[0], {}), "the debug window ends");
  EXPECT_EQ(said(kRequests[1], {.value_ms = 7200'000}), "the debug window ends in 2h");
  EXPECT_EQ(said(kRequests[1], {}), "the debug window ends");
  EXPECT_EQ(said(kRequests[2], {.value_ms = 7500'000}), "the job's time limit ends it in 2h 5m");
  EXPECT_THAT(said(kRequests[3], {.value_ms = 300'000}),
              AllOf(HasSubstr("5m"), HasSubstr("exit code 75")));
  EXPECT_EQ(said(kRequests[3], {}), "the job ends at once, with exit code 75");
  EXPECT_THAT(said(kRequests[4], {.value_ms = 300'000}), HasSubstr("goes on"));
}

TEST(ControlReplyText, SaysWhyNot) {
  EXPECT_THAT(said(kRequests[1], {ControlAnswer::kNotNow}), HasSubstr("no debug window"));
  EXPECT_THAT(said(kRequests[2], {ControlAnswer::kNotNow}),
              AllOf(HasSubstr("being ended"), HasSubstr("trainit hold --for")));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kNotNow}), HasSubstr("no longer runs"));
  EXPECT_THAT(said(kRequests[2], {ControlAnswer::kNoLimit}), HasSubstr("without a time limit"));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kBusy}), HasSubstr("under way"));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kRestarts}),
              AllOf(HasSubstr("--max-restarts"), HasSubstr("--keep-running")));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kNoCheckpoint}),
              AllOf(HasSubstr("--checkpoint-signal"), HasSubstr("checkpoint.d")));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kNothingSaved}),
              AllOf(HasSubstr("nothing was saved"), HasSubstr("--checkpoint-signal")));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kRefused}), HasSubstr("another user"));
  EXPECT_THAT(said(kRequests[3], {ControlAnswer::kUnknown}), HasSubstr("another version"));
}

// --- The commands ---

class ControlCommand : public child::Scratch {
 protected:
  // One line of `trainit NAME WORDS...` beside an instance that answers once. Where that stands
  // still for longer than it is waited for, another one does.
  child::Outcome run(const Words& words, const ControlReply& reply) {
    constexpr int kTries = 5;
    child::Outcome outcome = run_once(words, reply);
    for (int i = 1; i < kTries && outcome.err.contains("ETIMEDOUT"); ++i) {
      outcome = run_once(words, reply);
    }
    return outcome;
  }

  child::Outcome tool(const Words& words) {
    return child::run(
        [&] { return cli::run_tool(words, base::Environ({"TRAINIT_RUN_DIR=" + path("")})); });
  }

 private:
  child::Outcome run_once(const Words& words, const ControlReply& reply) {
    auto server = engine::ControlServer::open(path(""));
    EXPECT_TRUE(server) << to_line(server.error());
    const pid_t instance = ::fork();
    if (instance == 0) ::_exit(answer_once(*server, reply));
    *server = {};
    child::Outcome outcome = tool(words);
    ::unlink(path("control").c_str());
    EXPECT_EQ(child::wait_for(instance), 0);
    return outcome;
  }
  static int answer_once(engine::ControlServer& server, const ControlReply& reply) {
    constexpr int kLimitMs = 180'000;
    pollfd ready{server.listener().get(), POLLIN, 0};
    if (::poll(&ready, 1, kLimitMs) != 1) return 1;
    const int client = server.accept_client();
    ready.fd = client;
    if (client < 0 || ::poll(&ready, 1, kLimitMs) != 1 || !server.read_request(client)) return 2;
    server.answer(client, reply.answer, reply.value_ms);
    return 0;
  }
};

TEST_F(ControlCommand, SaysOnStdoutWhatIsDone) {
  const child::Outcome extended = run({"extend", "--for", "2h"}, {ControlAnswer::kDone, 7200'000});
  EXPECT_EQ(extended.code, 0);
  EXPECT_EQ(extended.out, "the job's time limit ends it in 2h\n");
  EXPECT_THAT(extended.err, IsEmpty());
  EXPECT_EQ(run({"checkpoint", "--keep-running"}, {}).code, 0);
  EXPECT_EQ(run({"hold", "2h"}, {ControlAnswer::kDone, 7200'000}).code, 0);
  EXPECT_EQ(run({"release"}, {}).code, 0);
}

TEST_F(ControlCommand, SaysOnStderrWhatIsNotAndEndsWithACodeThatStays) {
  for (const ControlAnswer answer : kAnswers) {
    if (answer == ControlAnswer::kDone) continue;
    const child::Outcome outcome = run({"checkpoint"}, {answer});
    EXPECT_EQ(outcome.code, answer == ControlAnswer::kUnknown ? 125 : 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, testing::StartsWith("trainit: error: asking the instance: "));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(ControlCommand, EndsWith2WhereNoInstanceIs) {
  for (const char* command : {"release", "checkpoint"}) {
    const child::Outcome outcome = tool({command});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(path("")), HasSubstr("ENOENT")));
  }
}

TEST_F(ControlCommand, EndsWith125ForBadInputAndAsksNobody) {
  auto server = engine::ControlServer::open(path(""));
  ASSERT_TRUE(server);
  EXPECT_EQ(tool({"extend", "--for", "400d"}).code, 125);
  EXPECT_EQ(tool({"extend"}).code, 125);
  EXPECT_EQ(tool({"checkpoint", "now"}).code, 125);
  EXPECT_EQ(tool({"checkpoint", "--keep-runing"}).code, 125);
  EXPECT_THAT(tool({"release", "--keep-running"}).err, HasSubstr("see trainit release --help"));
  pollfd ready{server->listener().get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
}

TEST_F(ControlCommand, HasHelp) {
  for (const char* command : {"release", "hold", "extend", "checkpoint"}) {
    const child::Outcome outcome = tool({command, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr(std::string("trainit ") + command),
                                   HasSubstr("--run-dir"), HasSubstr("As in:")));
  }
}

}  // namespace
