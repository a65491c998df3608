// A job of several nodes that hangs: when each looks at its ranks, what node 0 compares, and who
// fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lifecycle/hang_agent.h"
#include "tests/lifecycle/nodes_script.h"

namespace lifecycle {
namespace {

using Next = HangAgent::Next;

constexpr TimeMs kSilentMs = 5000;

std::string joined(const std::vector<NodeLook>& looks, bool whole) {
  std::string text = whole ? "whole" : "part";
  for (const NodeLook& look : looks) text += " " + std::to_string(look.node) + look.places;
  return text;
}

// Says in its text what was compared.
Coordinator::Settings judged(std::uint32_t count) {
  Coordinator::Settings settings = Nodes::of(count);
  settings.judge_hang = [](const auto& looks, std::uint32_t, bool whole) {
    return HangVerdict{.text = joined(looks, whole)};
  };
  return settings;
}

Nodes& answers(Nodes& job, std::uint32_t node, std::uint32_t look, const std::string& places) {
  job.reports[node].look = look;
  job.reports[node].places = places;
  return job.say(node);
}

TEST(HangOfAJob, IsJudgedOnceAllNodesHaveLooked) {
  Nodes job(judged(3));
  job.running();
  answers(job, 1, 1, "b");
  EXPECT_EQ(job.verdict(0).look, 1U);
  EXPECT_FALSE(job.verdict(0).hang);
  answers(job, 0, 1, "");
  answers(job, 2, 1, "c");
  EXPECT_FALSE(job.verdict(0).hang) << "node 0 still looks";
  answers(job, 0, 1, "a");
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    ASSERT_TRUE(job.verdict(node).hang);
    EXPECT_EQ(job.verdict(node).hang->text, "whole 0a 1b 2c");
    EXPECT_EQ(job.verdict(node).hang->look, 1U);
  }
  EXPECT_EQ(job.text_of_all(), "fine 0") << "the node of the suspect fails, and nobody before it";
}

TEST(HangOfAJob, IsJudgedWithoutANodeThatDoesNotAnswer) {
  Nodes job(judged(3));
  job.running();
  answers(job, 1, 1, "b");
  answers(job, 0, 1, "a");
  job.pass(kLookMs - 1);
  EXPECT_FALSE(job.verdict(1).hang);
  job.pass(1);
  ASSERT_TRUE(job.verdict(1).hang);
  EXPECT_EQ(job.verdict(1).hang->text, "part 0a 1b");
}

TEST(HangOfAJob, IsJudgedWithoutANodeThatIsGone) {
  Nodes job(judged(3));
  job.running();
  job.says_farewell(2, 0);
  answers(job, 1, 1, "b");
  answers(job, 0, 1, "a");
  ASSERT_TRUE(job.verdict(1).hang);
  EXPECT_EQ(job.verdict(1).hang->text, "part 0a 1b");
}

TEST(HangOfAJob, IsJudgedAnewForAnotherLook) {
  Nodes job(judged(2));
  job.running();
  answers(job, 0, 1, "a");
  answers(job, 1, 1, "b");
  answers(job, 1, 2, "bb");
  EXPECT_EQ(job.verdict(0).look, 2U);
  EXPECT_FALSE(job.verdict(0).hang) << "what was judged is of before";
  answers(job, 0, 2, "aa");
  EXPECT_EQ(job.verdict(0).hang->text, "whole 0aa 1bb");
}

// The process with the connections has died: the look is over, and is not opened again.
TEST(HangOfAJob, ThatWasJudgedIsNotJudgedAgain) {
  Nodes job(judged(2));
  job.running();
  answers(job, 0, 1, "a");
  answers(job, 1, 1, "b");
  for (NodeReport& report : job.reports) {
    report.judged = 1;
    report.places.clear();
  }
  job.forget().connect(0).connect(1).pass(kLookMs + 1);
  EXPECT_EQ(job.verdict(0).look, 1U);
  EXPECT_FALSE(job.verdict(0).hang);
  answers(job, 1, 2, "bb");
  answers(job, 0, 2, "aa");
  ASSERT_TRUE(job.verdict(0).hang);
  EXPECT_EQ(job.verdict(0).hang->text, "whole 0aa 1bb");
}

TEST(HangOfAJob, OfANumberThatNoneCouldFollowIsNone) {
  Nodes job(judged(2));
  job.running();
  answers(job, 1, 1, "b");
  answers(job, 0, UINT32_MAX, "a");
  EXPECT_EQ(job.verdict(0).look, 1U);
}

// A fresh node asks before whoever holds the connections has heard how far the others are.
TEST(HangOfAJob, FollowsTheHighestThatANodeKnows) {
  Nodes job(judged(3));
  job.running();
  answers(job, 1, 1, "b");
  job.reports[2].judged = 4;
  answers(job, 2, 4, "");
  EXPECT_EQ(job.verdict(0).look, 4U);
  answers(job, 2, 5, "cc");
  answers(job, 1, 5, "bb");
  answers(job, 0, 5, "aa");
  ASSERT_TRUE(job.verdict(0).hang);
  EXPECT_EQ(job.verdict(0).hang->text, "whole 0aa 1bb 2cc");
}

TEST(HangOfAJob, IsBoundedWhateverANodeSays) {
  Coordinator::Settings settings = Nodes::of(1);
  settings.judge_hang = [](const auto& looks, std::uint32_t, bool whole) {
    HangVerdict verdict{.text = joined(looks, whole) + std::string(5000, 'x')};
    verdict.suspects.resize(100);
    return verdict;
  };
  Nodes job(settings);
  job.running();
  answers(job, 0, 1, std::string(kMaxPlacesBytes + 1, 'p')).pass(kLookMs);
  ASSERT_TRUE(job.verdict(0).hang);
  EXPECT_EQ(job.verdict(0).hang->text.substr(0, 6), "partxx") << "too many bytes are none";
  EXPECT_LE(job.verdict(0).hang->text.size(), kMaxHangBytes);
  EXPECT_EQ(job.verdict(0).hang->suspects.size(), kMaxSuspects);
}

// --- One node ---

HangAgent connected() {
  HangAgent side;
  side.linked(true);
  side.apply_verdict({}, 0);
  return side;
}

NodeReport report_of(const HangAgent& side) {
  NodeReport report;
  side.add_to(report);
  return report;
}

NodeVerdict asks(std::uint32_t look) { return {.look = look}; }
NodeVerdict says(std::uint32_t look, std::vector<HangVerdict::Suspect> suspects = {}) {
  return {.look = look,
          .hang = HangVerdict{.look = look, .suspects = std::move(suspects), .text = "t"}};
}

TEST(HangOfANode, WithoutNode0IsItsOwnMatter) {
  HangAgent side;
  EXPECT_FALSE(side.stalled(kSilentMs, 0));
  EXPECT_EQ(side.next(0), Next::kNothing);
}

TEST(HangOfANode, IsToldWithItsPlacesAndWaitsForTheVerdict) {
  HangAgent side = connected();
  side.looked("here");
  EXPECT_TRUE(side.stalled(kSilentMs, 100));
  EXPECT_FALSE(side.owes_places());
  EXPECT_EQ(report_of(side).look, 1U);
  EXPECT_EQ(report_of(side).places, "here");
  EXPECT_EQ(side.next(100 + kHangWaitMs - 1), Next::kNothing);
  EXPECT_EQ(side.next(100 + kHangWaitMs), Next::kFail);
  EXPECT_EQ(side.next(100 + kHangWaitMs), Next::kNothing) << "once";
}

TEST(HangOfANode, EndsAtOnceWhereNobodyIsNamed) {
  HangAgent side = connected();
  side.looked("here");
  side.stalled(kSilentMs, 100);
  side.apply_verdict(says(1), 200);
  EXPECT_EQ(side.next(200), Next::kLog);
  EXPECT_EQ(side.next(200), Next::kFail);
}

TEST(HangOfANode, GivesTheSuspectsNodeTimeToFail) {
  HangAgent side = connected();
  side.looked("here");
  side.stalled(kSilentMs, 100);
  side.apply_verdict(says(1, {{.node = 1, .process = 0}}), 200);
  EXPECT_EQ(side.next(200), Next::kLog);
  EXPECT_EQ(side.next(100 + kHangWaitMs - 1), Next::kNothing);
  EXPECT_EQ(side.next(100 + kHangWaitMs), Next::kFail);
}

TEST(HangOfANode, EndsAtOnceWhenNode0IsGone) {
  HangAgent side = connected();
  side.stalled(kSilentMs, 100);
  side.linked(false);
  EXPECT_EQ(side.next(101), Next::kFail);
}

TEST(HangOfANode, IsLookedForWhenAnotherNodeAsks) {
  HangAgent side = connected();
  side.apply_verdict(asks(1), 50);
  EXPECT_TRUE(side.owes_places());
  EXPECT_EQ(report_of(side).look, 1U);
  side.looked("busy");
  EXPECT_FALSE(side.owes_places());
  EXPECT_EQ(report_of(side).places, "busy");
  // Its own watch is late: the look that goes on is the one.
  EXPECT_TRUE(side.stalled(kSilentMs, 60)) << "node 0 is about to judge it";
  EXPECT_EQ(report_of(side).look, 1U);
  side.apply_verdict(says(1), 70);
  EXPECT_EQ(side.next(70), Next::kLog);
  EXPECT_EQ(side.next(70), Next::kFail);
}

TEST(HangOfANode, AsksNoSecondTimeForWhatWasJudgedWhileItWasSilent) {
  HangAgent side = connected();
  side.apply_verdict(asks(1), 50);
  side.looked("waits");
  side.apply_verdict(says(1), 1000);
  EXPECT_EQ(side.next(1000), Next::kLog);
  side.stalled(kSilentMs, 1000 + kSilentMs - 1);
  EXPECT_EQ(report_of(side).look, 1U);
  EXPECT_EQ(side.next(1000 + kSilentMs), Next::kFail);
  side.forget();
  side.looked("again");
  side.stalled(kSilentMs, 1000 + kSilentMs + 1);
  EXPECT_EQ(report_of(side).look, 2U) << "another hang";
  EXPECT_EQ(report_of(side).places, "again");
}

TEST(HangOfANode, FailsNobodyOnceTheRanksWorkAgain) {
  HangAgent side = connected();
  side.looked("here");
  side.stalled(kSilentMs, 100);
  side.forget();
  EXPECT_TRUE(side.owes_places()) << "node 0 has the old ones";
  EXPECT_EQ(report_of(side).judged, 1U);
  side.looked("works");
  side.apply_verdict(says(1, {{.node = 0, .process = 0}}), 200);
  EXPECT_EQ(side.next(200), Next::kLog);
  EXPECT_FALSE(side.verdict_counts());
  side.looked("there");
  side.stalled(kSilentMs, 300);
  side.apply_verdict(says(2, {{.node = 0, .process = 0}}), 400);
  EXPECT_TRUE(side.verdict_counts()) << "of another hang";
}

TEST(HangOfANode, OfBeforeItCameIsNoNews) {
  HangAgent side;
  side.linked(true);
  side.apply_verdict(says(7, {{.node = 1, .process = 0}}), 10);
  EXPECT_EQ(side.next(10), Next::kNothing);
  side.looked("here");
  side.stalled(kSilentMs, 20'000);
  EXPECT_EQ(report_of(side).look, 8U) << "a number that nobody has used";
}

}  // namespace
}  // namespace lifecycle
