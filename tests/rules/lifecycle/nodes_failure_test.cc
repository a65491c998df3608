// Which rank of two nodes failed first, where its node hears of a victim before it sees the end.

#include <gmock/gmock.h>

#include <filesystem>

#include "init/sys/clock.h"
#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::shell;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLost =
    "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.2]:4";
constexpr const char* kLives = "; exec sleep 600";

class NodesFailure : public rules::LifecycleTest {
 protected:
  // A shell as the only rank of each of two nodes.
  Spec node(int number, const std::string& script) {
    const Words run_dir = {"--run-dir", path("run" + std::to_string(number))};
    return spec(joined(joined(run_dir, nodes_.options(number)), joined({"--"}, shell(script))));
  }

  [[nodiscard]] std::string when_connected() const {
    return "until [ -e " + path("connected") + " ]; do sleep 0.01; done; ";
  }
  [[nodiscard]] std::string victim() const {
    return "until [ -e " + path("raised") + " ]; do sleep 0.01; done; echo '" + kLost +
           "' >&2; exit 1";
  }

 private:
  rules::LocalNodes nodes_{2};
};
RULES_EITHER_WAY(NodesFailure);

constexpr const char* kTraceback =
    "echo 'Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n"
    "ValueError: no shard 17' >&2; ";

// The culprit has printed why and closed its connections; a victim ends first.
TEST_P(NodesFailure, IsTheRanksThatWasFailingWhenItWasAskedToStop) {
  constexpr const char* kProgress =
      "echo 'ate shard 16' >&2; printf '\\r  5%%|x | 50/1000 [00:05<01:35, 10it/s]' >&2; ";
  // Lines that are printed on the way out.
  for (const std::string behind :
       {"", "echo >&2;", "printf '\\r  5%%|x | 50/1000 [00:06<01:36, 9it/s]\\n' >&2;",
        "echo '[W] Warning: process group has NOT been destroyed before it is being destructed' "
        ">&2;",
        "echo 'wandb: You can sync this run to the cloud by running:' >&2;",
        "echo 'terminate called after throwing an instance of std::runtime_error\n  what():  boom' "
        ">&2;"}) {
    SCOPED_TRACE(behind);
    std::filesystem::remove(path("connected"));
    std::filesystem::remove(path("raised"));
    Instance first(node(0, victim()));
    Instance second(node(1, when_connected() + kProgress + kTraceback + behind + "echo > " +
                                path("raised") + kLives));
    ASSERT_TRUE(second.await_err("connected to node 0"));
    write("connected", "");
    EXPECT_EQ(second.wait(), 1) << second.err();
    EXPECT_EQ(first.wait(), 76) << first.err();
    const auto names_it =
        AllOf(HasSubstr("first failure: rank-1 (node 1"),
              HasSubstr("was killed by SIGTERM (it was failing when it was asked to stop) after "),
              HasSubstr("; the cause: "));
    EXPECT_THAT(first.err(), names_it);
    EXPECT_THAT(second.err(), names_it);
  }
}

// An error that a rank has survived is no cause: progress came after it, in words that a list has
// or like that before it, or time has passed.
TEST_P(NodesFailure, IsNotOfARankWithAnOldTraceback) {
  for (const std::string after : {"echo 'step 1' >&2;", "echo 'ate shard 17' >&2;", "sleep 3;"}) {
    SCOPED_TRACE(after);
    std::filesystem::remove(path("connected"));
    std::filesystem::remove(path("raised"));
    Instance first(node(0, victim()));
    Instance second(node(1, when_connected() + "echo 'ate shard 16' >&2; " + kTraceback + after +
                                "echo > " + path("raised") + kLives));
    ASSERT_TRUE(second.await_err("connected to node 0"));
    write("connected", "");
    EXPECT_EQ(second.wait(), 76) << second.err();
    EXPECT_EQ(first.wait(), 1) << first.err();
    EXPECT_THAT(first.err(), HasSubstr("first failure: rank-0 (node 0"));
    EXPECT_THAT(second.err(), HasSubstr("first failure: rank-0 (node 0"));
  }
}

// Two nodes fail before node 0 is there.
TEST_P(NodesFailure, BeforeNode0CameIsOneOnAllNodes) {
  rules::LocalNodes nodes(3);
  const auto start = [&](int number, const std::string& script) {
    const Words run_dir = {"--run-dir", path("run" + std::to_string(number))};
    return spec(joined(joined(run_dir, nodes.options(number)), joined({"--"}, shell(script))));
  };
  const std::string fails = "echo > " + path("failed") + "$RANK; exit $((RANK + 10))";
  const std::int64_t began_ms = sys::monotonic_ms();
  Instance second(start(1, fails));
  Instance third(start(2, fails));
  await_file("", "failed1");
  await_file("", "failed2");
  Instance zero(start(0, "exec sleep 600"));
  ASSERT_TRUE(zero.await_err("listens at port"));
  const bool in_time = sys::monotonic_ms() < began_ms + 1500;
  const int codes[] = {zero.wait(), second.wait(), third.wait()};
  if (!in_time) GTEST_SKIP() << "the machine was too slow: node 0 came when the others were gone";
  EXPECT_THAT(codes, AnyOf(ElementsAre(76, 11, 76), ElementsAre(76, 76, 12))) << zero.err();
  const std::string named = "first failure: rank-" + std::to_string(codes[1] == 11 ? 1 : 2);
  for (Instance* each : {&zero, &second, &third}) EXPECT_THAT(each->err(), HasSubstr(named));
}

// A single stop reaches both ranks: neither was ending before it.
TEST_P(NodesFailure, IsNoRanksThatAStopOfAllProcessesHasEnded) {
  const auto result = rules::run(
      two_ranks({"--stop-scope", "tree"},
                shell("[ $RANK = 0 ] || exec sleep 600; until [ -e " + path("run") +
                      " ]; do sleep 0.01; done; echo '" + std::string(kLost) + "' >&2; exit 1")));
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("first failure: rank-0"));
  EXPECT_THAT(result.err, Not(HasSubstr("at the same time")));
}

}  // namespace
