#include "init/engine/state/failure.h"

#include <gmock/gmock.h>

#include "init/engine/state/state.h"

namespace {

using engine::FailureDetail;
using engine::last_lines_of;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

FailureDetail example() {
  FailureDetail detail;
  detail.task = "rank-9";
  detail.rank = 9;
  detail.node = 1;
  detail.host = "worker-b";
  detail.device = 1;
  detail.signal = "SIGKILL";
  detail.exit_code = 137;
  detail.oom = true;
  detail.at_ms = 1'795'160'059'000;
  detail.after_ms = 61'500;
  detail.log = "/logs/rank-9.log";
  detail.last_lines = {"step 1", "step 2", "Traceback", "MemoryError"};
  detail.torn_down = {"rank-8: SIGTERM", "rank-10: exit 0"};
  return detail;
}

FailureDetail with_cause() {
  FailureDetail detail = example();
  detail.cause =
      engine::FailureCause{.line = "ValueError: batch 7",
                           .task = "rank-5",
                           .failure_class = "script-error",
                           .role = "root",
                           .advice = "mend it",
                           .restart = "unknown",
                           .certain = true,
                           .traceback = {"Traceback", "  main()", "ValueError: batch 7"}};
  return detail;
}

// --- The cause ---

TEST(FailureTexts, SayTheCauseFirst) {
  EXPECT_EQ(engine::failure_line("rank-9 died", with_cause()),
            "the cause (rank-5): ValueError: batch 7; first failure: rank-9 died; what to do: mend "
            "it");
  EXPECT_EQ(engine::termination_text("rank-9 died", with_cause(), 4096),
            "trainit: the cause (rank-5): ValueError: batch 7; rank-9 died\n"
            "what to do: mend it\n"
            "its traceback:\n  Traceback\n    main()\n  ValueError: batch 7\n"
            "torn down because of it: rank-8: SIGTERM, rank-10: exit 0\n"
            "its last lines:\n  step 1\n  step 2\n  Traceback\n  MemoryError\n");
}

TEST(FailureTexts, SayWhoseWordsAVictimsAre) {
  FailureDetail detail = with_cause();
  detail.cause->role = "victim";
  detail.cause->task = "";
  EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096),
              StartsWith("trainit: rank-9 only says: ValueError: batch 7; rank-9 died\n"));
}

TEST(FailureTexts, LeaveOutTheRanksThatLaunchersPutBeforeALine) {
  FailureDetail detail = with_cause();
  for (const std::string ranks : {"[rank0]: ", "[default0]:", "[default0]:[rank0]: ", "rank0: ",
                                  "15: ", "15: [rank15]: ", "[1,2]<stderr>:", "[3] "}) {
    detail.cause->line = ranks + "ValueError: batch 7";
    EXPECT_EQ(engine::cause_text(*detail.cause), "the cause (rank-5): ValueError: batch 7");
    EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096),
                StartsWith("trainit: the cause (rank-5): ValueError: batch 7; "))
        << ranks;
  }
  for (const std::string whole : {"[Error]: the device is lost", "node-3: error: no memory",
                                  "[2026-11-20 10:00:00] no memory", "12:00:01 no memory"}) {
    detail.cause->line = whole;
    EXPECT_EQ(engine::cause_text(*detail.cause), "the cause (rank-5): " + whole);
  }
}

TEST(FailureTexts, StayWithinTheirBoundsWhateverTheCause) {
  FailureDetail detail = with_cause();
  detail.cause->line = std::string(400, 'l');
  detail.cause->advice = std::string(300, 'a');
  detail.cause->traceback.assign(25, std::string(400, 't'));
  detail.last_lines.assign(10, std::string(400, 'z'));
  for (const std::size_t most : {30U, 100U, 500U, 900U, 4096U}) {
    EXPECT_LE(engine::termination_text("rank-9 died", detail, most).size(), most);
  }
  const std::string text = engine::termination_text("rank-9 died", detail, 4096);
  EXPECT_THAT(text, HasSubstr("its traceback:\n  ttt"));
  EXPECT_THAT(text, HasSubstr("its last lines:\n  zzz"));
}

// --- The last lines ---

TEST(LastLines, AreTheLinesOldestFirst) {
  EXPECT_THAT(last_lines_of("a\nb\nc\n", true), ElementsAre("a", "b", "c"));
  EXPECT_THAT(last_lines_of("a\nb", true), ElementsAre("a", "b"));
  EXPECT_THAT(last_lines_of("", true), IsEmpty());
  EXPECT_THAT(last_lines_of("\n\n \n", true), IsEmpty());
}

TEST(LastLines, LeaveOutATornFirstLine) {
  EXPECT_THAT(last_lines_of("orn\nwhole\n", false), ElementsAre("whole"));
  EXPECT_THAT(last_lines_of("one long line", false), ElementsAre("one long line"));
}

TEST(LastLines, AreAtMostTwenty) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + "\n";
  const auto lines = last_lines_of(text, true);
  ASSERT_THAT(lines, SizeIs(20));
  EXPECT_EQ(lines.front(), "30");
  EXPECT_EQ(lines.back(), "49");
}

TEST(LastLines, AreAtMost4096Bytes) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::string(1000, static_cast<char>('a' + i)) + "\n";
  const auto lines = last_lines_of(text, true);
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_EQ(lines.back(), std::string(400, 't'));
}

// A tensor, or a batch, that was printed in one line.
TEST(LastLines, AreNotHiddenByALongOne) {
  const std::string text = "RuntimeError: boom\n" + std::string(200'000, 'x') + "\nend\n";
  EXPECT_THAT(last_lines_of(text, true),
              ElementsAre("RuntimeError: boom", std::string(400, 'x'), "end"));
}

// Also where the window has cut off one of its marks.
TEST(LastLines, HaveNoBodyOfAPrivateKey) {
  const std::string begin = "before it\n-----BEGIN RSA PRIVATE KEY-----\n";
  const std::string body = "MIIEow+canary/1==\nAAAAcanary2\n";
  const std::string end = "-----END RSA PRIVATE KEY-----\nafter it\n";
  EXPECT_THAT(last_lines_of(begin + body + end, true),
              ElementsAre("before it", "***", "***", "***", "***", "after it"));
  EXPECT_THAT(last_lines_of(body + end, true), ElementsAre("***", "***", "***", "after it"));
  EXPECT_THAT(last_lines_of(begin + body, true), ElementsAre("before it", "***", "***", "***"));
}

TEST(LastLines, HaveNoEscapesAndNoControls) {
  EXPECT_THAT(last_lines_of("\033[1;31mred\033[0m \033]0;title\aword\x01\x7f\ttab\n", true),
              ElementsAre("red word tab"));
  EXPECT_THAT(last_lines_of("cut \033[", true), ElementsAre("cut"));
  EXPECT_THAT(last_lines_of("c1 \xc2\x9b!", true), ElementsAre("c1 !"));
  EXPECT_THAT(last_lines_of("bad \xff\xe2\x82", true), ElementsAre("bad ???"));
}

TEST(LastLines, HaveTheLastStateOfAProgressBar) {
  EXPECT_THAT(last_lines_of(" 1%\r 50%\r100%\r\nboom\r\n", true), ElementsAre("100%", "boom"));
}

TEST(LastLines, AreCutBetweenCharacters) {
  const auto lines = last_lines_of(std::string(399, 'x') + "\xe2\x82\xac\n", true);
  EXPECT_THAT(lines, ElementsAre(std::string(399, 'x')));
}

TEST(LastLines, ShowNoCredentials) {
  EXPECT_THAT(last_lines_of("login HF_TOKEN=canary\n", true), ElementsAre("login HF_TOKEN=***"));
}

// --- The texts ---

TEST(FailureText, InTheLogIsOneLineWithTheLastThree) {
  EXPECT_EQ(engine::failure_line("rank-9 died", example()),
            "first failure: rank-9 died; its last lines: step 2 | Traceback | MemoryError");
  EXPECT_EQ(engine::failure_line("rank-9 died", {}), "first failure: rank-9 died");
}

TEST(FailureText, NamesTheNodesThatNeverConnected) {
  FailureDetail detail = example();
  detail.never_connected = "node 1 (b)";
  constexpr const char* kAbsent = "never connected: node 1 (b) (see whether it was started)";
  EXPECT_THAT(
      engine::failure_line("rank-9 died", detail),
      StartsWith("first failure: rank-9 died; " + std::string(kAbsent) + "; its last lines"));
  EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096),
              StartsWith("trainit: rank-9 died\n" + std::string(kAbsent) + "\ntorn down"));
  detail.cause = {.line = "Connection timed out", .role = "victim", .advice = "look around"};
  EXPECT_EQ(engine::failure_line("rank-9 died", detail),
            "rank-9 only says: Connection timed out; first failure: rank-9 died; " +
                std::string(kAbsent) + "; what to do: look around");
  detail.cause = with_cause().cause;
  EXPECT_THAT(engine::failure_line("rank-9 died", detail), Not(HasSubstr("connected")));
  EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096), Not(HasSubstr("connected")));
}

TEST(FailureText, InTheTerminationMessageHasTheDiagnosisFirst) {
  EXPECT_EQ(engine::termination_text("rank-9 died", example(), 4096),
            "trainit: rank-9 died\n"
            "torn down because of it: rank-8: SIGTERM, rank-10: exit 0\n"
            "its last lines:\n"
            "  step 1\n  step 2\n  Traceback\n  MemoryError\n");
  EXPECT_EQ(engine::termination_text("rank-9 died", {}, 4096), "trainit: rank-9 died\n");
}

TEST(FailureText, ShowsATracebackOnce) {
  FailureDetail detail = with_cause();
  const std::vector<std::string> traceback = detail.cause->traceback;
  detail.last_lines = {"step 1"};
  detail.last_lines.insert(detail.last_lines.end(), traceback.begin(), traceback.end());
  detail.last_lines.emplace_back("bye");
  EXPECT_THAT(engine::lines_beside_traceback(detail), ElementsAre("step 1", "bye"));
  EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096),
              EndsWith("its last lines:\n  step 1\n  bye\n"));
  detail.last_lines.erase(detail.last_lines.begin(), detail.last_lines.begin() + 2);
  EXPECT_THAT(engine::lines_beside_traceback(detail), ElementsAre("bye"));
  detail.last_lines.pop_back();
  EXPECT_THAT(engine::termination_text("rank-9 died", detail, 4096), Not(HasSubstr("last lines")));
}

TEST(FailureText, LosesTheOldestLinesFirst) {
  FailureDetail detail = example();
  detail.last_lines.clear();
  for (int i = 0; i < 20; ++i) {
    detail.last_lines.push_back(std::to_string(100 + i) + std::string(397, 'x'));
  }
  const std::string text = engine::termination_text("rank-9 died", detail, 4096);
  EXPECT_LE(text.size(), 4096U);
  EXPECT_GT(text.size(), 3600U);
  EXPECT_THAT(text, StartsWith("trainit: rank-9 died\n"));
  EXPECT_THAT(text, HasSubstr("rank-10: exit 0"));
  EXPECT_THAT(text, HasSubstr("  119x"));
  EXPECT_THAT(text, Not(HasSubstr("  100x")));
}

TEST(FailureText, KeepsTheDiagnosisWhateverElseThereIs) {
  FailureDetail detail = example();
  for (int i = 0; i < 1000; ++i)
    detail.torn_down.push_back("rank-" + std::to_string(i) + ": SIGTERM");
  const std::string many = engine::termination_text("rank-9 died", detail, 4096);
  EXPECT_LE(many.size(), 4096U);
  EXPECT_THAT(many, StartsWith("trainit: rank-9 died\ntorn down because of it: rank-8"));
  EXPECT_THAT(many, EndsWith("\n"));

  const std::string longer = engine::termination_text(std::string(5000, 'm'), detail, 4096);
  EXPECT_EQ(longer.size(), 4096U);
  for (std::size_t before = 4080; before < 4090; ++before) {
    const std::string euros = std::string(before, 'm') + "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac";
    const std::string cut = engine::termination_text(euros, {}, 4096);
    EXPECT_LE(cut.size(), 4096U);
    EXPECT_THAT(last_lines_of(cut, true).back(), Not(HasSubstr("?"))) << before;
  }
}

// --- In state.json ---

FailureDetail round_trip(const FailureDetail& detail) {
  const std::string text = engine::state_to_json({.failure = detail});
  return engine::state_from_json(text, "state.json")->failure;
}

TEST(FailureDetail, ComesBackAsItWasWritten) {
  EXPECT_EQ(round_trip(example()), example());
  FailureDetail none;
  none.task = "resolver";
  none.exit_code = 125;
  EXPECT_EQ(round_trip(none), none);
}

TEST(FailureDetail, IsNullWithoutAFailure) { EXPECT_EQ(round_trip({}), FailureDetail{}); }

}  // namespace
