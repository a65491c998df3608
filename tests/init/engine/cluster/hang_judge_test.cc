// Node 0's judgement of the places of all nodes' ranks, and of their flight recorders' dumps.

#include "init/engine/cluster/hang_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/failure/stack_groups.h"
#include "init/engine/cluster/hang_dumps.h"
#include "tests/init/child.h"

namespace engine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

envgen::PlacedRank at(int rank, envgen::Whereabouts where, const std::string& does) {
  envgen::PlacedRank placed{.name = "rank-" + std::to_string(rank), .node = {}, .rank = rank};
  placed.process = static_cast<std::uint32_t>(rank % 2);
  placed.at = {.where = where, .does = does, .peers = where != envgen::Whereabouts::kElsewhere};
  placed.at.seen = true;
  return placed;
}

envgen::PlacedRank waits(int rank, bool stalled = true) {
  envgen::PlacedRank placed = at(rank, envgen::Whereabouts::kCollective, "waits in all_reduce");
  placed.stalled = stalled;
  return placed;
}

using Ranks = std::vector<envgen::PlacedRank>;

std::vector<lifecycle::NodeLook> two_nodes(const Ranks& first, const Ranks& second) {
  return {{0, envgen::encode_places(first)}, {1, envgen::encode_places(second)}};
}

const std::vector<std::string> kNames = {"a", "b"};

TEST(HangJudge, NamesTheRankByNodeAndProcess) {
  const auto sleeps = at(3, envgen::Whereabouts::kElsewhere, "sleeps");
  const auto hang =
      judge_hang(two_nodes({waits(0), waits(1)}, {waits(2), sleeps}), true, kNames, {});
  ASSERT_THAT(hang.suspects, SizeIs(1));
  EXPECT_EQ(hang.suspects[0].node, 1U);
  EXPECT_EQ(hang.suspects[0].process, 1U);
  EXPECT_THAT(hang.text, StartsWith("the others wait for rank-3 on node 1 (b): sleeps. "));
}

TEST(HangJudge, NamesNobodyWhereNothingHasStalled) {
  const auto sleeps = at(3, envgen::Whereabouts::kElsewhere, "sleeps");
  const auto looks = two_nodes({waits(0, false), waits(1, false)}, {waits(2, false), sleeps});
  EXPECT_THAT(judge_hang(looks, true, kNames, {}).suspects, IsEmpty());
}

TEST(HangJudge, LeavesOutPlacesThatCannotBeRead) {
  const auto unclear = at(1, envgen::Whereabouts::kUnclear, "waits");
  auto looks = two_nodes({waits(0), unclear}, {waits(2)});
  looks[0].places += "x";
  const auto hang = judge_hang(looks, true, kNames, {});
  EXPECT_THAT(hang.suspects, IsEmpty());
  EXPECT_THAT(hang.text, HasSubstr("rank-2"));
}

// --- The dumps on their way ---

class Dumps : public child::Scratch {};

envgen::RecorderDump dump_of(int rank) {
  envgen::RecorderDump dump;
  dump.rank = rank;
  dump.version = "2.9";
  return dump;
}

TEST_F(Dumps, GoThroughAFileAndFramesToThoseOfTheirLook) {
  const std::string file = recorder_file(path(""));
  write_dumps(file, {dump_of(4), dump_of(5)});
  const auto payloads = dump_payloads(file, 7);
  ASSERT_THAT(payloads, SizeIs(2));
  HangDumps dumps;
  for (const std::string& payload : payloads) EXPECT_TRUE(dumps.add(payload));
  ASSERT_THAT(dumps.of(7), SizeIs(2));
  EXPECT_EQ(dumps.of(7)[1].rank, 5);
  EXPECT_THAT(dumps.of(8), IsEmpty());
  write_dumps(file, {dump_of(6)});
  for (const std::string& payload : dump_payloads(file, 6)) EXPECT_TRUE(dumps.add(payload));
  EXPECT_THAT(dumps.of(7), SizeIs(2)) << "those of an earlier look come too late";
  for (const std::string& payload : dump_payloads(file, 8)) EXPECT_TRUE(dumps.add(payload));
  EXPECT_THAT(dumps.of(8), SizeIs(1));
  EXPECT_FALSE(dumps.add("damaged"));
  write_dumps(file, {});
  EXPECT_THAT(dump_payloads(file, 9), IsEmpty()) << "none of what an earlier look has left";
}

}  // namespace
}  // namespace engine
