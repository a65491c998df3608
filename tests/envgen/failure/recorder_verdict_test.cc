#include "envgen/failure/recorder_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace {

using envgen::judge_recorder;
using envgen::PendingOperation;
using envgen::read_recorder_dump;
using envgen::RecorderDump;
using envgen::RecorderVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kHung = kNow - 60'000;  // when what hangs was enqueued

// A rank's dump, put together by what the rank has done in its groups.
class Rank {
 public:
  explicit Rank(int rank) {
    dump_.rank = rank;
    dump_.version = "2.9";
    dump_.written_ms = kNow;
    dump_.all_groups = true;
  }
  // All collectives of the group up to `done` are finished, those up to `entered` are pending.
  Rank& in(const std::string& group, std::vector<envgen::RankRun> ranks, int entered, int done,
           const std::string& operation = "all_reduce") {
    const std::uint32_t place = group_of(group, std::move(ranks));
    dump_.groups[place].enqueued = entered;
    dump_.groups[place].completed = done;
    for (int i = done + 1; i <= entered; ++i) {
      dump_.groups[place].seen = i;
      dump_.pending.push_back({.group = place,
                               .name = operation,
                               .sequence = i,
                               .created_ms = kHung,
                               .elements_in = 10});
    }
    return *this;
  }
  Rank& transfer(const std::string& group, std::vector<envgen::RankRun> ranks,
                 const std::string& operation, int peer, int sequence = 1) {
    const std::uint32_t place = group_of(group, std::move(ranks));
    dump_.groups[place].point_to_point = true;
    dump_.pending.push_back({.group = place,
                             .name = operation,
                             .sequence = sequence,
                             .peer = peer,
                             .created_ms = kHung});
    return *this;
  }
  Rank& with(const std::function<void(RecorderDump&)>& change) {
    change(dump_);
    return *this;
  }
  operator RecorderDump() const { return dump_; }  // NOLINT(google-explicit-constructor)

 private:
  std::uint32_t group_of(const std::string& name, std::vector<envgen::RankRun> ranks) {
    for (std::uint32_t i = 0; i < dump_.groups.size(); ++i) {
      if (dump_.groups[i].name == name) return i;
    }
    dump_.groups.push_back({.name = name, .description = name, .ranks = std::move(ranks)});
    return static_cast<std::uint32_t>(dump_.groups.size() - 1);
  }
  RecorderDump dump_;
};

const std::vector<envgen::RankRun> kFour = {{0, 4, 1}};

RecorderVerdict judge(const std::vector<RecorderDump>& dumps, int world_size = 4) {
  return judge_recorder(dumps, world_size);
}

TEST(RecorderVerdict, NamesTheRankThatHasNotEntered) {
  const RecorderVerdict verdict =
      judge({Rank(0).in("DP", kFour, 28, 26), Rank(1).in("DP", kFour, 28, 26),
             Rank(2).in("DP", kFour, 26, 26), Rank(3).in("DP", kFour, 27, 26)});
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_EQ(verdict.text,
            "rank 2 has not entered all_reduce 27 of group DP, in which 3 ranks wait");
  EXPECT_EQ(verdict.waiting, 3U);
}

TEST(RecorderVerdict, NamesNobodyWhereAllOrNoneWait) {
  EXPECT_EQ(judge({}).text, "");
  for (const int entered : {26, 27}) {
    std::vector<RecorderDump> dumps;
    for (int rank = 0; rank < 4; ++rank) dumps.push_back(Rank(rank).in("DP", kFour, entered, 26));
    EXPECT_THAT(judge(dumps).culprits, IsEmpty()) << entered;
    EXPECT_EQ(judge(dumps).text, "") << entered;
  }
}

TEST(RecorderVerdict, NamesTheEndOfAChain) {
  const std::vector<envgen::RankRun> x = {{0, 2, 1}}, y = {{1, 2, 1}};
  EXPECT_THAT(judge({Rank(0).in("X", x, 5, 4), Rank(1).in("X", x, 4, 4).in("Y", y, 9, 8),
                     Rank(2).in("Y", y, 8, 8)})
                  .culprits,
              ElementsAre(2));
  // Its end has no dump, so that nobody is named.
  const RecorderVerdict open =
      judge({Rank(0).in("X", x, 5, 4), Rank(1).in("X", x, 4, 4).in("Y", y, 9, 8)});
  EXPECT_THAT(open.culprits, IsEmpty());
  EXPECT_THAT(open.missing, ElementsAre(2));
  EXPECT_EQ(open.text, "no dump of rank 2, for which others wait");
  // A ring has no end.
  EXPECT_THAT(judge({Rank(0).in("X", x, 5, 4).in("Y", {{0, 2, 1}}, 8, 8),
                     Rank(1).in("X", x, 4, 4).in("Y", {{0, 2, 1}}, 9, 8)})
                  .culprits,
              IsEmpty());
}

TEST(RecorderVerdict, TransfersAreWaitsToo) {
  const std::vector<envgen::RankRun> pipe = {{0, 3, 1}};
  const RecorderVerdict verdict =
      judge({Rank(0).transfer("PP", pipe, "recv", 1), Rank(1).transfer("PP", pipe, "recv", 2),
             Rank(2).transfer("PP", pipe, "send", 0, 7).with([](RecorderDump& dump) {
               dump.pending.clear();
             })},
            3);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_EQ(verdict.text, "rank 2 has not sent to rank 1 in group PP");
  // Both have posted it: the cause is not known.
  EXPECT_THAT(
      judge({Rank(0).transfer("PP", pipe, "recv", 1), Rank(1).transfer("PP", pipe, "send", 0)}, 2)
          .culprits,
      IsEmpty());
  // Both wait for the other one.
  EXPECT_THAT(
      judge({Rank(0).transfer("PP", pipe, "recv", 1), Rank(1).transfer("PP", pipe, "recv", 0)}, 2)
          .culprits,
      IsEmpty());
}

// The peer of a transfer behind a collective may have sent: the device has not come to it.
TEST(RecorderVerdict, ATransferBehindACollectiveNamesNobody) {
  const std::vector<envgen::RankRun> pipe = {{0, 2, 1}}, data = {{0, 3, 2}};
  const RecorderVerdict verdict =
      judge({Rank(0).in("DP", {{0, 2, 2}}, 5, 4).transfer("PP", pipe, "recv", 1), Rank(1),
             Rank(2).in("DP", {{0, 2, 2}}, 4, 4)},
            3);
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
}

TEST(RecorderVerdict, NamesNobodyBeforeAnOperationHasLasted) {
  const auto young = [](RecorderDump& dump) {
    for (PendingOperation& one : dump.pending) one.created_ms = kNow - 500;
  };
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 27, 26).with(young),
                     Rank(1).in("DP", kFour, 27, 26).with(young), Rank(2).in("DP", kFour, 26, 26),
                     Rank(3).in("DP", kFour, 27, 26).with(young)})
                  .culprits,
              IsEmpty());
  // A dump of long ago says nothing of an operation that came later.
  const auto old = [](RecorderDump& dump) { dump.written_ms = kHung - 1000; };
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 27, 26), Rank(1).in("DP", kFour, 27, 26),
                     Rank(2).in("DP", kFour, 26, 26).with(old), Rank(3).in("DP", kFour, 27, 26)})
                  .culprits,
              IsEmpty());
}

TEST(RecorderVerdict, NamesNobodyWhereMostAreElsewhere) {
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 27, 26), Rank(1).in("DP", kFour, 26, 26),
                     Rank(2).in("DP", kFour, 26, 26), Rank(3).in("DP", kFour, 26, 26)})
                  .culprits,
              IsEmpty());
}

TEST(RecorderVerdict, NamesNobodyWhomItCannotPlace) {
  const auto unsure = [](RecorderDump& dump) { dump.more_pending = true; };
  const auto other_members = [](RecorderDump& dump) { dump.groups[0].ranks = {{0, 8, 1}}; };
  const auto mixed = [](RecorderDump& dump) { dump.groups[0].point_to_point = true; };
  const auto unknown = [](RecorderDump& dump) {
    dump.all_groups = false;
    dump.groups.clear();
  };
  for (const auto& change :
       std::vector<std::function<void(RecorderDump&)>>{unsure, other_members, mixed, unknown}) {
    EXPECT_THAT(
        judge({Rank(0).in("DP", kFour, 27, 26), Rank(1).in("DP", kFour, 27, 26),
               Rank(2).in("DP", kFour, 26, 26).with(change), Rank(3).in("DP", kFour, 27, 26)})
            .culprits,
        IsEmpty());
  }
}

TEST(RecorderVerdict, ARankThatHasNeverUsedTheGroupHasNotEntered) {
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 1, 0), Rank(1).in("DP", kFour, 1, 0), Rank(2),
                     Rank(3).in("DP", kFour, 1, 0)})
                  .culprits,
              ElementsAre(2));
}

// The second collective could not end before the first had ended everywhere.
TEST(RecorderVerdict, NamesARankThatDoesNotSeeItsOperationsEnd) {
  const RecorderVerdict verdict =
      judge({Rank(0).in("DP", kFour, 28, 27), Rank(1).in("DP", kFour, 28, 27),
             Rank(2).in("DP", kFour, 28, 25), Rank(3).in("DP", kFour, 28, 27)});
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_EQ(verdict.text,
            "rank 2 has not seen the end of all_reduce 26 of group DP, which others have finished");
  // A single operation may have ended on some and not on others.
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 28, 27), Rank(1).in("DP", kFour, 28, 27),
                     Rank(2).in("DP", kFour, 28, 26), Rank(3).in("DP", kFour, 28, 27)})
                  .culprits,
              IsEmpty());
  // If all others have finished it, they do not keep the rank from entering the next.
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 28, 27), Rank(1).in("DP", kFour, 28, 27),
                     Rank(2).in("DP", kFour, 27, 26), Rank(3).in("DP", kFour, 28, 27)})
                  .culprits,
              ElementsAre(2));
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 28, 27), Rank(1).in("DP", kFour, 28, 27),
                     Rank(2).in("DP", kFour, 27, 26), Rank(3).in("DP", kFour, 28, 26)})
                  .culprits,
              IsEmpty());
  // The root of a broadcast is done before the others.
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 28, 27, "broadcast"),
                     Rank(1).in("DP", kFour, 28, 25, "broadcast")},
                    4)
                  .culprits,
              IsEmpty());
}

TEST(RecorderVerdict, NamesARankWhoseDeviceHasNotStarted) {
  const auto timed = [](bool started) {
    return [started](RecorderDump& dump) {
      dump.groups[0].started = started ? 27 : 26;
      dump.pending[0].started = started;
    };
  };
  const RecorderVerdict verdict = judge({Rank(0).in("DP", kFour, 27, 26).with(timed(true)),
                                         Rank(1).in("DP", kFour, 27, 26).with(timed(true)),
                                         Rank(2).in("DP", kFour, 27, 26).with(timed(false)),
                                         Rank(3).in("DP", kFour, 27, 26).with(timed(true))});
  EXPECT_THAT(verdict.culprits, ElementsAre(2));
  EXPECT_EQ(verdict.text,
            "rank 2 has not started all_reduce 27 of group DP, in which 3 ranks wait");
}

// Rank 1 has a receive pending that waits, by way of rank 4, for rank 1 itself. Ranks 0, 2 and 3
// have the same receive pending, and have entered the next collective all the same.
TEST(RecorderVerdict, AWaitThatStoppedNoOtherRankDoesNotExcuse) {
  std::vector<RecorderDump> dumps;
  const auto pipe = [](int rank) { return "P" + std::to_string(rank); };
  const auto described = [](RecorderDump& dump) { dump.groups[0].description = "PP"; };
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<envgen::RankRun> two = {{rank, 2, 4}};
    const int entered = rank == 1 ? 26 : 27;
    dumps.push_back(Rank(rank)
                        .transfer(pipe(rank), two, "recv", rank + 4)
                        .with(described)
                        .in("EP", kFour, entered, 26));
    dumps.push_back(Rank(rank + 4).transfer(pipe(rank), two, "recv", rank).with(described));
  }
  EXPECT_THAT(judge(dumps, 8).culprits, ElementsAre(1));
  // Without that: a ring in which nobody is named.
  dumps[0].pending.erase(dumps[0].pending.begin());
  dumps[4].pending.erase(dumps[4].pending.begin());
  dumps[6].pending.erase(dumps[6].pending.begin());
  EXPECT_THAT(judge(dumps, 8).culprits, testing::Not(testing::Contains(1)));
}

TEST(RecorderVerdict, TellsCollectivesThatDiffer) {
  const RecorderVerdict names =
      judge({Rank(0).in("DP", kFour, 27, 26), Rank(1).in("DP", kFour, 27, 26, "broadcast"),
             Rank(2).in("DP", kFour, 27, 26), Rank(3).in("DP", kFour, 27, 26)});
  EXPECT_THAT(names.culprits, IsEmpty());
  EXPECT_EQ(names.text,
            "collective 27 of group DP differs: rank 0 runs all_reduce, rank 1 runs broadcast");
  const auto larger = [](RecorderDump& dump) { dump.pending[0].elements_in = 12; };
  EXPECT_EQ(judge({Rank(0).in("DP", {{0, 2, 1}}, 27, 26),
                   Rank(1).in("DP", {{0, 2, 1}}, 27, 26).with(larger)},
                  2)
                .text,
            "collective 27 of group DP differs: rank 0 runs all_reduce of 10 elements, rank 1 runs "
            "all_reduce of 12 elements");
}

TEST(RecorderVerdict, DumpsOnOtherNodesDisksAreNotMissing) {
  const std::vector<envgen::RankRun> eight = {{0, 8, 1}};
  const RecorderVerdict verdict =
      judge({Rank(0).in("DP", eight, 27, 26), Rank(1).in("DP", eight, 27, 26)}, 8);
  EXPECT_THAT(verdict.culprits, IsEmpty());
  EXPECT_THAT(verdict.missing, ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_EQ(verdict.text, "");
}

TEST(RecorderVerdict, OfTwoDumpsOfARankTheLaterCounts) {
  const auto old = [](RecorderDump& dump) { dump.written_ms = kNow - 90'000; };
  EXPECT_THAT(judge({Rank(0).in("DP", kFour, 27, 26), Rank(1).in("DP", kFour, 27, 26),
                     Rank(2).in("DP", kFour, 26, 26), Rank(2).in("DP", kFour, 20, 10).with(old),
                     Rank(3).in("DP", kFour, 27, 26)})
                  .culprits,
              ElementsAre(2));
}

TEST(RecorderVerdict, IgnoresADumpThatCannotBe) {
  const auto damaged = [](RecorderDump& dump) { dump.pending[0].group = 9; };
  EXPECT_EQ(judge({Rank(0).in("DP", kFour, 27, 26).with(damaged)}).waiting, 0U);
}

TEST(RecorderVerdict, NamesAtMostEight) {
  std::vector<RecorderDump> dumps;
  const std::vector<envgen::RankRun> all = {{0, 40, 1}};
  for (int rank = 0; rank < 40; ++rank) {
    dumps.push_back(Rank(rank).in("DP", all, rank < 12 ? 26 : 27, 26));
  }
  const RecorderVerdict verdict = judge(dumps, 40);
  EXPECT_EQ(verdict.culprits.size(), 12U);
  EXPECT_LE(verdict.text.size(), 400U);
}

// Real dumps of a job of 16 ranks in which two ranks were made to fail.
std::vector<RecorderDump> dumps_of_sample(const std::string& name) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  std::vector<RecorderDump> dumps;
  for (int rank = 0; rank < 16; ++rank) {
    const std::filesystem::path path = std::filesystem::path(samples) / "flight-recorder" / name /
                                       ("_dump_" + std::to_string(rank));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto dump = read_recorder_dump(bytes, rank, path.string());
    EXPECT_TRUE(dump) << to_line(dump.error());
    if (dump) dumps.push_back(std::move(*dump));
  }
  return dumps;
}

class RecorderSamples : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TRAINIT_SAMPLES") == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  }
};

TEST_F(RecorderSamples, NamesTheRanksWhoseDeviceFailed) {
  const RecorderVerdict verdict = judge(dumps_of_sample("gpu_error_1st"), 16);
  EXPECT_THAT(verdict.culprits, ElementsAre(12, 14));
  EXPECT_THAT(verdict.text,
              HasSubstr("rank 12 has not entered all_to_all 20537 of group "
                        "EXPERT_MODEL_PARALLEL_GROUP, in which 3 ranks wait; rank 14 "));
}

TEST_F(RecorderSamples, NamesTheRanksThatHeldTheInterpreter) {
  const RecorderVerdict verdict = judge(dumps_of_sample("lock_gil_2nd"), 16);
  EXPECT_THAT(verdict.culprits, ElementsAre(10, 15));
  EXPECT_THAT(verdict.text, HasSubstr("rank 10 has not entered all_to_all 20947 of group "
                                      "EXPERT_MODEL_PARALLEL_GROUP, in which 3 ranks wait"));
}

// Whatever dumps are missing, no other rank is named.
TEST_F(RecorderSamples, NameNoInnocentRankWhereDumpsAreMissing) {
  for (const auto& [name, culprits] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"gpu_error_1st", {12, 14}}, {"lock_gil_2nd", {10, 15}}}) {
    const std::vector<RecorderDump> all = dumps_of_sample(name);
    for (int first = 0; first < 16; ++first) {
      for (int second = first; second < 16; ++second) {
        std::vector<RecorderDump> some = all;
        std::erase_if(some, [&](const RecorderDump& dump) {
          return dump.rank == first || dump.rank == second;
        });
        for (const int rank : judge(some, 16).culprits) {
          EXPECT_THAT(culprits, testing::Contains(rank))
              << name << " without " << first << " and " << second;
        }
      }
    }
    // The dumps of one node alone.
    for (int node = 0; node < 16; node += 4) {
      for (const int rank : judge({all.begin() + node, all.begin() + node + 4}, 16).culprits) {
        EXPECT_THAT(culprits, testing::Contains(rank)) << name << " node of " << node;
      }
    }
  }
}

}  // namespace
