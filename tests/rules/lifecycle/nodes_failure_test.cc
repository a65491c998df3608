// Which rank of two nodes failed first, where its node hears of a victim before it sees the end.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
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
              HasSubstr("error: the cause: "));
    EXPECT_THAT(first.err(), names_it);
    EXPECT_THAT(second.err(), names_it);
  }
}

constexpr const char* kMissingKey =
    "echo 'Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n"
    "KeyError: label' >&2; ";

// Both print why and end by themselves, 0.2 s apart: the second is not asked to stop before that,
// as it ignores TERM.
TEST_P(NodesFailure, OfTwoRootsIsTheEarlierWhicheverNodeItIsOn) {
  for (const int earlier : {0, 1}) {
    SCOPED_TRACE(earlier);
    std::filesystem::remove(path("connected"));
    std::filesystem::remove(path("raised"));
    const std::string first_ends =
        when_connected() + kTraceback + "echo > " + path("raised") + "; exit 3";
    const std::string second_ends = "trap '' TERM; until [ -e " + path("raised") +
                                    " ]; do sleep 0.01; done; sleep 0.2; " + kMissingKey + "exit 4";
    Instance zero(node(0, earlier == 0 ? first_ends : second_ends));
    Instance one(node(1, earlier == 1 ? first_ends : second_ends));
    ASSERT_TRUE(one.await_err("connected to node 0"));
    write("connected", "");
    EXPECT_EQ((earlier == 0 ? zero : one).wait(), 3);
    (earlier == 0 ? one : zero).wait();
    for (Instance* each : {&zero, &one}) {
      EXPECT_THAT(each->err(),
                  AllOf(HasSubstr("first failure: rank-" + std::to_string(earlier) + " (node"),
                        HasSubstr("error: the cause: ValueError: no shard 17")));
    }
  }
}

// A victim ends before its culprit, and another rank fails on its own 0.2 s later.
TEST_P(NodesFailure, IsTheCulpritsWhereAVictimWasFasterAndAnotherRankFailsAsWell) {
  rules::LocalNodes nodes(3);
  const auto start = [&](int number, const std::string& script) {
    const Words run_dir = {"--run-dir", path("run" + std::to_string(number))};
    return spec(joined(joined(run_dir, nodes.options(number)), joined({"--"}, shell(script))));
  };
  const std::string raised = "until [ -e " + path("raised") + " ]; do sleep 0.01; done; ";
  Instance zero(start(0, "trap '' TERM; " + raised + "sleep 0.25; " + kMissingKey + "exit 4"));
  Instance one(start(1, victim()));
  Instance two(start(2, "trap '' TERM; " + when_connected() + kTraceback + "echo > " +
                            path("raised") + "; sleep 0.05; exit 3"));
  ASSERT_TRUE(one.await_err("connected to node 0"));
  ASSERT_TRUE(two.await_err("connected to node 0"));
  write("connected", "");
  EXPECT_EQ(two.wait(), 3) << two.err();
  zero.wait();
  EXPECT_EQ(one.wait(), 76) << one.err();
  for (Instance* each : {&zero, &one, &two}) {
    EXPECT_THAT(each->err(), AllOf(HasSubstr("first failure: rank-2 (node 2"),
                                   HasSubstr("error: the cause: ValueError: no shard 17")));
  }
}

// Before the message of the first failure, with "the cause: " or " only says: ".
std::string cause_in(const std::string& err) {
  const std::size_t at = err.rfind("; first failure: ");
  if (at == std::string::npos) return "no cause";
  const std::size_t from = err.rfind('\n', at) + 1;
  const std::string line = err.substr(from, at - from);
  const std::size_t begin = std::min(line.find("the cause: "), line.find(" only says: "));
  return begin == std::string::npos ? "no cause" : line.substr(begin, 300);
}

// Real logs, printed by the rank of the other node: the line is the same as of a single process.
TEST_P(NodesFailure, HasTheCauseThatASingleProcessHas) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  for (const char* name : {"034-cuda-oom-deepspeedai-DeepSpeed-4715.log",
                           "110-config-NVIDIA-BioNeMo-bionemo-recipes-784.log",
                           "168-hccl-vllm-project-vllm-ascend-3413.log"}) {
    SCOPED_TRACE(name);
    const std::string fails =
        "cat " + (std::filesystem::path(samples) / "failures" / name).string() + " >&2; exit 1";
    const auto single = rules::run(spec(joined({"--output", "tee", "--"}, shell(fails))));
    EXPECT_THAT(cause_in(single.err), testing::Not(testing::StartsWith("no cause")));
    std::filesystem::remove(path("connected"));
    Instance zero(node(0, "exec sleep 600"));
    Instance one(node(1, when_connected() + fails));
    ASSERT_TRUE(one.await_err("connected to node 0"));
    write("connected", "");
    EXPECT_EQ(one.wait(), 1);
    EXPECT_EQ(zero.wait(), 76);
    EXPECT_EQ(cause_in(zero.err()), cause_in(single.err));
    EXPECT_EQ(cause_in(one.err()), cause_in(single.err));
  }
}

// An error that a rank has survived is no cause: work came after it, or a line like one before it,
// or time has passed.
TEST_P(NodesFailure, IsNotOfARankWithAnOldTraceback) {
  for (const std::string after : {"for i in 1 2 3 4; do echo \"Schritt $i\" >&2; done;",
                                  "echo 'ate shard 17' >&2;", "sleep 3;"}) {
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
  const int of_second = second.wait();
  const int of_third = third.wait();
  // Nodes that were gone have told node 0 nothing, and that would wait for its rank.
  if (!in_time && (of_second == 76) == (of_third == 76)) {
    GTEST_SKIP() << "the machine was too slow: node 0 came when the others were gone";
  }
  const int codes[] = {zero.wait(), of_second, of_third};
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
