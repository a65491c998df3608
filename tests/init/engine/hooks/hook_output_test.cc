// What hooks print.

#include "init/engine/hooks/hook_output.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/init/engine/hooks/hooks.h"

namespace {

using engine::HookOutput;
using hooks::Hooks;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST_F(Hooks, PrintWholeLinesWithTheirName) {
  script("10-a", "printf 'on'; printf 'e\\n\\ntwo'; echo ' to stderr' >&2; printf 'rest'");
  EXPECT_EQ(run().log,
            "trainit: hook 10-a: one\ntrainit: hook 10-a: two to stderr\ntrainit: hook 10-a: "
            "rest\n");
}

TEST_F(Hooks, OfAProgressBarTheLastStateIsShown) {
  script("a", "printf '10%%\\r50%%\\r100%%\\ndone\\r\\n'");
  EXPECT_EQ(run().log, "trainit: hook a: 100%\ntrainit: hook a: done\n");
}

TEST_F(Hooks, MayFloodTheirOutput) {
  script("a", "yes | head -c 50000000");
  script("b", "echo next");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  const std::size_t shown = HookOutput::kMaxBytes / std::string("hook a: y\n").size();
  EXPECT_EQ(lines_in(outcome.log), shown + 2);
  EXPECT_THAT(outcome.log.substr(outcome.log.size() - 300),
              EndsWith("trainit: warning: hook a: " + std::to_string(50'000'000 - 2 * shown) +
                       " bytes more are not shown: a hook's output is limited to 262144 bytes\n"
                       "trainit: hook b: next\n"));
}

TEST_F(Hooks, MayPrintOneEndlessLine) {
  script("a", "head -c 20000000 /dev/zero | tr '\\0' x");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_LT(outcome.log.size(), 300'000U);
  EXPECT_THAT(outcome.log, StartsWith("trainit: hook a: " + std::string(3500, 'x') + "\n"));
  EXPECT_THAT(outcome.log.substr(outcome.log.size() - 300), HasSubstr("bytes more are not shown"));
}

TEST_F(Hooks, MayPrintAnyBytes) {
  script("a", "printf 'a\\000b\\377\\033[2J\\n'; head -c 100000 /dev/urandom; echo; echo end");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.log, AllOf(StartsWith("trainit: hook a: a\\x00b\\xff\\x1b[2J\n"),
                                 HasSubstr("trainit: hook a: end\n")));
  EXPECT_TRUE(std::ranges::none_of(
      outcome.log, [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }));
}

TEST_F(Hooks, GoOnWhenNobodyReadsTheirOutput) {
  script("a", "yes | head -c 5000000");
  script("b", "touch " + path("reached"));
  const auto ended = child::run([&] {
    const child::Pipe full = child::make_pipe();
    ::dup2(full.in.get(), STDERR_FILENO);
    return run_here({}, {});
  });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(::access(path("reached").c_str(), F_OK), 0);
}

TEST_F(Hooks, GoOnWhenTheirOutputIsClosed) {
  script("a", "echo one; echo two; exec >&- 2>&-; touch " + path("reached"));
  const auto ended = child::run([&] {
    {
      const child::Pipe closed = child::make_pipe();
      ::dup2(closed.in.get(), STDERR_FILENO);
    }
    return run_here({}, {});
  });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(::access(path("reached").c_str(), F_OK), 0);
}

TEST(HookOutput, KeepsTheLastLinesOfWhatIsNotShownToo) {
  HookOutput output;
  output.begin("a");
  output.add(std::string(HookOutput::kMaxBytes, 'x') + "\nbut\nthis\n");
  output.end();
  EXPECT_THAT(output.output_tail(), AllOf(EndsWith(" | but | this"), Not(HasSubstr("\n"))));
  output.begin("b");
  EXPECT_EQ(output.output_tail(), "");
}

TEST(HookOutput, IsTheSameInAnyPieces) {
  const std::string text = "one\rtwo\n\nthree\r\nfour";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    HookOutput output;
    output.begin("a");
    for (std::size_t at = 0; at < text.size(); at += size) output.add(text.substr(at, size));
    output.end();
    EXPECT_EQ(output.output_tail(), "two | three | four") << size;
  }
}

}  // namespace
