#include "envgen/failure/stack_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace {

using envgen::decode_places;
using envgen::encode_places;
using envgen::Frame;
using envgen::judge_stacks;
using envgen::PlacedRank;
using envgen::SeenJob;
using envgen::SeenProcess;
using envgen::SeenRank;
using envgen::SeenThread;
using envgen::StackVerdict;
using envgen::Whereabouts;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kTorch = "/usr/lib/python3/dist-packages/torch/";
const Frame kUser{"/work/train.py", 8, "step"};
const Frame kAllReduce{kTorch + "distributed/distributed_c10d.py", 1541, "all_reduce"};
const Frame kBarrier{kTorch + "distributed/distributed_c10d.py", 3000, "barrier"};
const Frame kReceive{kTorch + "distributed/distributed_c10d.py", 1100, "recv"};
const Frame kBackward{kTorch + "autograd/__init__.py", 197, "backward"};
const SeenThread kIdle{.tid = 1, .name = "python3", .state = 'S', .wait = "futex_do_wait"};
const SeenThread kSleeps{.tid = 1, .name = "python3", .state = 'S', .wait = "hrtimer_nanosleep"};
const SeenThread kBusy{.tid = 1, .name = "python3", .state = 'R', .share_of_cpu = 98};
const SeenThread kStopped{.tid = 1, .name = "python3", .state = 'T'};

SeenProcess python(std::vector<Frame> frames, SeenThread main = kIdle) {
  SeenProcess process{.pid = 10, .name = "python3"};
  process.threads = {std::move(main)};
  process.python = {{std::move(frames)}};
  process.device = false;
  return process;
}

SeenProcess on_device(SeenProcess process) {
  process.device = true;
  return process;
}

SeenJob job(const std::vector<SeenProcess>& ranks, bool whole = true) {
  SeenJob seen{.ranks = {}, .whole = whole};
  for (const SeenProcess& process : ranks) {
    const int rank = static_cast<int>(seen.ranks.size());
    seen.ranks.push_back(
        {.name = "rank-" + std::to_string(rank), .rank = rank, .processes = {process}});
  }
  return seen;
}

const SeenProcess kWaits = python({kAllReduce, kUser});
const SeenProcess kSleeper = python({{"/work/train.py", 31, "load"}, kUser}, kSleeps);

TEST(Stacks, TheOneOutsideOfTheCollectiveIsTheSuspect) {
  const StackVerdict verdict = judge_stacks(job({kWaits, kWaits, kSleeper, kWaits}));
  EXPECT_THAT(verdict.suspects, ElementsAre(2));
  EXPECT_EQ(verdict.text,
            "the others wait for rank-2: sleeps, train.py:31 in load. rank-0, rank-1, rank-3: "
            "waits in all_reduce, train.py:8 in step");
  EXPECT_THAT(judge_stacks(job({kSleeper, kWaits})).suspects, ElementsAre(0)) << "of two";
  EXPECT_THAT(judge_stacks(job({kSleeper, kWaits}, false)).suspects, ElementsAre(0))
      << "also where there are other nodes: it waits for none of them";
}

TEST(Stacks, WhatOthersKnowStandsBehindTheVerdict) {
  SeenJob seen = job({kWaits, kWaits, kSleeper, kWaits});
  const std::string verdict = judge_stacks(seen).text;
  seen.notes = {"NCCL's RAS: rank-2 does not answer", "the flight recorder's dump /d/trace_0"};
  EXPECT_EQ(judge_stacks(seen).text, verdict +
                                         ". NCCL's RAS: rank-2 does not answer. the flight "
                                         "recorder's dump /d/trace_0");
  EXPECT_THAT(judge_stacks(seen).suspects, ElementsAre(2));
}

TEST(Stacks, TheFlightRecorderNamesWhereTheStacksDoNot) {
  const SeenProcess unclear = on_device(python({kUser}));
  SeenJob seen = job({unclear, unclear, unclear});
  EXPECT_THAT(judge_stacks(seen).suspects, IsEmpty());
  seen.recorded = {1};
  const StackVerdict verdict = judge_stacks(seen);
  EXPECT_THAT(verdict.suspects, ElementsAre(1));
  EXPECT_THAT(verdict.text, StartsWith("the others wait for rank-1: waits, perhaps for its device, "
                                       "train.py:8 in step. rank-0, rank-2: "));
  seen.recorded = {1, 2};
  EXPECT_THAT(judge_stacks(seen).suspects, IsEmpty()) << "not one alone";
  seen.recorded = {7};
  EXPECT_THAT(judge_stacks(seen).suspects, IsEmpty()) << "on another node";
  SeenJob waiting = job({kWaits, unclear, kWaits, unclear});
  waiting.recorded = {0};
  EXPECT_THAT(judge_stacks(waiting).suspects, IsEmpty()) << "its stack contradicts";
  SeenJob known = job({kWaits, kSleeper, kWaits});
  known.recorded = {2};
  EXPECT_THAT(judge_stacks(known).suspects, ElementsAre(1)) << "the stacks come first";
}

TEST(Stacks, ManyElsewhereAreNotNamed) {
  SeenProcess other = kSleeper;
  other.python[0].frames[0].line = 40;
  EXPECT_THAT(judge_stacks(job({kWaits, kWaits, kSleeper, other})).suspects, IsEmpty())
      << "two at different places";
  EXPECT_THAT(judge_stacks(job({kWaits, kSleeper, kSleeper})).suspects, IsEmpty())
      << "more than wait: they look for a file that the first one has not made";
  EXPECT_THAT(judge_stacks(job({kWaits, kWaits, kSleeper, kSleeper})).suspects, ElementsAre(2, 3));
  EXPECT_THAT(judge_stacks(job({kSleeper, kSleeper, other})).suspects, IsEmpty())
      << "nobody waits for them";
}

TEST(Stacks, OneThatRunsIsElsewhereUnlessItMayWaitForItsDevice) {
  const SeenProcess spins = python({kUser}, kBusy);
  EXPECT_THAT(judge_stacks(job({kWaits, spins, kWaits})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({kWaits, on_device(spins), kWaits})).suspects, IsEmpty());
  SeenProcess moves = on_device(spins);
  moves.moves = true;
  EXPECT_THAT(judge_stacks(job({kWaits, moves, kWaits})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({kWaits, on_device(kSleeper), kWaits})).suspects, ElementsAre(1));
}

TEST(Stacks, OneThatWaitsForWhoKnowsWhatIsNamedOnlyAsTheLastOneMissing) {
  const SeenProcess unclear = python({kUser});
  EXPECT_THAT(judge_stacks(job({kWaits, unclear, kWaits})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({kWaits, unclear, kWaits}, false)).suspects, IsEmpty())
      << "the one that is missing may be on another node";
  EXPECT_THAT(judge_stacks(job({kWaits, on_device(unclear), kWaits})).suspects, IsEmpty());
  EXPECT_THAT(judge_stacks(job({kWaits, unclear, unclear, kWaits})).suspects, IsEmpty());
  EXPECT_THAT(judge_stacks(job({kWaits, unclear, kSleeper, kWaits})).suspects, ElementsAre(2))
      << "beside one that is certainly elsewhere";
  SeenProcess by_thread = unclear;
  by_thread.python.push_back({{kBarrier, kUser}});
  EXPECT_EQ(place_of(job({by_thread}).ranks[0]).where, Whereabouts::kUnclear);
}

TEST(Stacks, BackwardIsACollectiveOnlyWhereNothingRuns) {
  const SeenProcess backward = python({kBackward, kUser});
  EXPECT_THAT(judge_stacks(job({backward, kSleeper, backward})).suspects, ElementsAre(1));
  SeenProcess computes = backward;
  computes.threads.push_back(kBusy);
  EXPECT_EQ(place_of(job({computes}).ranks[0]).where, Whereabouts::kUnclear);
  EXPECT_EQ(place_of(job({on_device(backward)}).ranks[0]).where, Whereabouts::kUnclear);
}

TEST(Stacks, AStoppedRankIsTheSuspectButNotAllOfThem) {
  SeenProcess stopped{.pid = 10, .name = "python3"};
  stopped.threads = {kStopped, kStopped};
  const StackVerdict verdict = judge_stacks(job({kWaits, kWaits, stopped}));
  EXPECT_THAT(verdict.suspects, ElementsAre(2));
  EXPECT_THAT(verdict.text, HasSubstr("rank-2: is stopped."));
  EXPECT_THAT(judge_stacks(job({stopped, stopped})).suspects, IsEmpty());
}

TEST(Stacks, ARankThatLeftTheLoopIsTheSuspect) {
  SeenJob seen = job({kWaits, kWaits});
  seen.ranks.push_back({.name = "rank-2", .rank = 2, .ended = "has ended with code 0"});
  EXPECT_THAT(judge_stacks(seen).suspects, ElementsAre(2));
  const SeenProcess at_exit = python({{"/usr/lib/python3.11/threading.py", 1583, "_shutdown"}});
  const StackVerdict verdict = judge_stacks(job({kWaits, at_exit, kWaits}));
  EXPECT_THAT(verdict.suspects, ElementsAre(1));
  EXPECT_THAT(verdict.text, HasSubstr("rank-1: is at its exit"));
}

TEST(Stacks, TheBusyWorkerOfADataLoaderHasTheLine) {
  SeenJob seen = job({kWaits, python({{"/usr/lib/python3.11/selectors.py", 415, "select"},
                                      {kTorch + "utils/data/dataloader.py", 1148, "_try_get_data"},
                                      kUser})});
  const auto worker = [](std::vector<Frame> inner) {
    inner.push_back({kTorch + "utils/data/_utils/worker.py", 308, "_worker_loop"});
    inner.push_back(kUser);
    return python(std::move(inner));
  };
  seen.ranks[1].processes.push_back(worker({{"/usr/lib/python3.11/queue.py", 3, "get"}}));
  seen.ranks[1].processes.push_back(worker({{"/work/data.py", 12, "__getitem__"},
                                            {kTorch + "utils/data/_utils/fetch.py", 49, "fetch"}}));
  const StackVerdict verdict = judge_stacks(seen);
  EXPECT_THAT(verdict.suspects, ElementsAre(1));
  EXPECT_THAT(verdict.text, HasSubstr("is busy, data.py:12 in __getitem__"));
}

TEST(Stacks, OneAloneInAnotherCollectiveIsOutOfOrder) {
  const SeenProcess barrier = python({kBarrier, {"/work/train.py", 20, "save"}});
  EXPECT_THAT(judge_stacks(job({kWaits, barrier, kWaits})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({kWaits, barrier})).suspects, IsEmpty()) << "which of two?";
  EXPECT_THAT(judge_stacks(job({kWaits, barrier, barrier, kWaits})).suspects, IsEmpty());
  EXPECT_THAT(judge_stacks(job({kWaits, barrier, kWaits}, false)).suspects, IsEmpty())
      << "rank 0 has sent its part, and the culprit is on another node";
  const SeenProcess receives = python({kReceive, {"/work/train.py", 20, "save"}});
  EXPECT_THAT(judge_stacks(job({kWaits, receives, kWaits})).suspects, IsEmpty())
      << "a pipeline's stages rightly differ";
}

// No list has the library that the ranks talk to one another with.
TEST(Stacks, OutsideOfKnownCollectivesTheOneThatCertainlyWaitsForNobodyIsTheSuspect) {
  const SeenProcess receives = python({{"/usr/lib/python3.11/socket.py", 706, "readinto"}, kUser});
  const SeenProcess idle = python({{"/opt/ring.py", 20, "exchange"}, kUser});
  EXPECT_THAT(judge_stacks(job({receives, receives, kSleeper, receives})).suspects, ElementsAre(2));
  EXPECT_THAT(judge_stacks(job({idle, on_device(idle), kSleeper, receives})).suspects,
              ElementsAre(2));
  EXPECT_THAT(judge_stacks(job({receives, kSleeper}, false)).suspects, IsEmpty())
      << "the ranks of another node may be elsewhere as well";
  EXPECT_THAT(judge_stacks(job({receives, kSleeper, kSleeper})).suspects, IsEmpty());
  EXPECT_THAT(judge_stacks(job({receives, kSleeper})).suspects, IsEmpty()) << "which of two?";
  EXPECT_THAT(judge_stacks(job({kSleeper, kSleeper})).suspects, IsEmpty()) << "nobody waits";
  EXPECT_THAT(judge_stacks(job({receives, idle, receives})).suspects, IsEmpty())
      << "both may wait for a rank";
  SeenProcess moves = python({kUser}, kBusy);
  moves.moves = true;
  EXPECT_THAT(judge_stacks(job({receives, moves, receives})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({receives, moves, kSleeper, receives})).suspects, IsEmpty());
}

std::vector<PlacedRank> on_node(const std::string& node, const SeenJob& seen, int first = 0) {
  std::vector<PlacedRank> ranks = places_of(seen);
  for (PlacedRank& rank : ranks) {
    rank.node = node;
    rank.name = "rank-" + std::to_string(first++);
  }
  return ranks;
}

TEST(Stacks, AreJudgedOverAllNodes) {
  std::vector<PlacedRank> ranks = on_node("node 0 (a)", job({kWaits, kWaits}));
  std::ranges::copy(on_node("node 1 (b)", job({kWaits, kSleeper}), 2), std::back_inserter(ranks));
  const StackVerdict verdict = judge_places(ranks, true);
  EXPECT_THAT(verdict.suspects, ElementsAre(3));
  EXPECT_THAT(verdict.text, StartsWith("the others wait for rank-3 on node 1 (b): sleeps, "
                                       "train.py:31 in load. rank-0, rank-1, rank-2: waits in "));
  ranks.pop_back();
  EXPECT_THAT(judge_places(ranks, false).text, StartsWith("the cause is not known. "))
      << "of several nodes none is this one";
}

// On a busy machine a rank that computes gets few of the CPUs.
TEST(Stacks, ARankThatWaitsForACpuRuns) {
  SeenThread waits_for_cpu = kBusy;
  waits_for_cpu.share_of_cpu = 3;
  EXPECT_EQ(place_of(job({python({kUser}, waits_for_cpu)}).ranks[0]).where, Whereabouts::kUnclear)
      << "one look may be chance";
  waits_for_cpu.runnable = true;
  const SeenProcess spins = python({kUser}, waits_for_cpu);
  EXPECT_THAT(judge_stacks(job({kWaits, spins, kWaits})).suspects, ElementsAre(1));
  EXPECT_THAT(judge_stacks(job({kWaits, spins, kWaits})).text, HasSubstr("rank-1: runs"));
}

// A library that polls sleeps; a wait for a lock or a pipe may be one for another rank.
TEST(Stacks, OutsideOfKnownCollectivesAPollingRankIsNoSuspect) {
  const SeenProcess receives = python({{"/usr/lib/python3.11/socket.py", 706, "readinto"}, kUser});
  const SeenProcess polls =
      python({{"/usr/lib/python3/dist-packages/filelock/_api.py", 200, "acquire"}, kUser}, kSleeps);
  const SeenThread in_pipe{.tid = 1, .name = "python3", .state = 'S', .wait = "anon_pipe_read"};
  const SeenProcess reads = python({kUser}, in_pipe);
  for (const SeenProcess& one : {polls, reads}) {
    EXPECT_THAT(judge_stacks(job({receives, one, receives})).suspects, IsEmpty());
    EXPECT_THAT(judge_stacks(job({kWaits, one, kWaits})).suspects, ElementsAre(1))
        << "in a collective certainly nobody else is";
  }
  SeenProcess native{.pid = 10, .name = "solver"};
  native.threads = {kIdle};
  EXPECT_THAT(judge_stacks(job({receives, kSleeper, receives, native})).suspects, IsEmpty())
      << "one could not be seen";
  SeenJob launched = job({receives, kSleeper, receives});
  launched.ranks[1].rank = -1;
  EXPECT_THAT(judge_stacks(launched).suspects, IsEmpty()) << "a launcher";
}

// A rank that works may be elsewhere than others that work.
TEST(Stacks, ARankIsNoSuspectForAStallThatItDoesNotExplain) {
  std::vector<PlacedRank> ranks = places_of(job({kWaits, kWaits, kSleeper, kWaits}));
  ranks[0].stalled = true;
  EXPECT_THAT(judge_places(ranks, true).suspects, ElementsAre(2));
  const SeenProcess works = python({kUser}, kBusy);
  ranks = places_of(job({kWaits, kWaits, kSleeper, kWaits}));
  ranks.push_back(places_of(job({works})).front());
  ranks.back().stalled = true;
  EXPECT_THAT(judge_places(ranks, true).suspects, IsEmpty());
}

TEST(Stacks, GoToAnotherNodeAsBytes) {
  std::vector<PlacedRank> ranks = places_of(job({kWaits, kSleeper, kWaits}));
  ranks[1].process = 7;
  const auto places = decode_places(encode_places(ranks));
  ASSERT_TRUE(places);
  EXPECT_TRUE(places->whole);
  ASSERT_EQ(places->ranks.size(), 3U);
  EXPECT_EQ(judge_places(places->ranks, true).text,
            "the others wait for rank-1: sleeps, train.py:31 in load. "
            "rank-0, rank-2: waits in all_reduce, train.py:8 in step");
  EXPECT_EQ(places->ranks[2].process, 7U) << "by groups, the largest first";
  EXPECT_TRUE(decode_places(encode_places({}))) << "a node without ranks has answered";
  EXPECT_FALSE(encode_places({}).empty());
  EXPECT_FALSE(decode_places("x"));
}

TEST(Stacks, GoToAnotherNodeWithinBounds) {
  std::vector<SeenProcess> seen(600, kWaits);
  seen.push_back(kSleeper);
  for (int i = 0; i < 10; ++i) {
    seen.push_back(python({{"/work/" + std::string(300, 'x') + ".py", i, "f"}}));
  }
  const std::string bytes = encode_places(places_of(job(seen)));
  EXPECT_LE(bytes.size(), envgen::kMaxPlacesBytes);
  const auto places = decode_places(bytes);
  ASSERT_TRUE(places);
  EXPECT_FALSE(places->whole) << "the largest group is left out, not the one that differs";
  EXPECT_EQ(places->ranks.size(), 11U);
}

TEST(Stacks, ANodeWhereAllWaitBlamesNobody) {
  const StackVerdict here = judge_stacks(job({kWaits, kWaits}, false));
  EXPECT_TRUE(here.all_wait);
  EXPECT_THAT(here.suspects, IsEmpty());
  EXPECT_THAT(here.text, StartsWith("all ranks of this node wait, so the cause is on another "
                                    "node. rank-0, rank-1: waits in all_reduce"));
  EXPECT_THAT(judge_stacks(job({kWaits, kWaits})).text, StartsWith("the cause is not known. "));
  EXPECT_FALSE(judge_stacks(job({})).all_wait);
}

TEST(Stacks, WithoutPythonStacksNobodyIsNamedButOneThatIsStopped) {
  SeenProcess native{.pid = 10, .name = "solver"};
  native.threads = {kBusy};
  native.no_stack = "no Python stack: it is no Python";
  SeenProcess idle = native;
  idle.threads = {kIdle};
  const StackVerdict verdict = judge_stacks(job({native, idle, idle}));
  EXPECT_THAT(verdict.suspects, IsEmpty());
  EXPECT_THAT(
      verdict.text,
      HasSubstr("rank-1, rank-2: state S in futex_do_wait; no Python stack: it is no Python"));
  native.threads = {kStopped};
  EXPECT_THAT(judge_stacks(job({native, idle, idle})).suspects, ElementsAre(0));
}

TEST(Stacks, AThousandRanksAreToldWithinBounds) {
  std::vector<SeenProcess> ranks;
  for (int i = 0; i < 1000; ++i) {
    ranks.push_back(python({{"/work/" + std::string(300, 'x') + ".py", i, "f"}}));
  }
  const StackVerdict verdict = judge_stacks(job(ranks));
  EXPECT_LE(verdict.text.size(), 1000U);
  EXPECT_THAT(judge_stacks(job(std::vector<SeenProcess>(1000, kWaits))).text,
              HasSubstr("rank-7 and 992 more: waits in all_reduce"));
}

TEST(Stacks, AreToldToPeopleAndPrograms) {
  const SeenJob seen = job({kWaits, kSleeper});
  const StackVerdict verdict = judge_stacks(seen);
  EXPECT_THAT(stacks_to_text(seen, verdict),
              testing::AllOf(HasSubstr("\nrank-1: sleeps, train.py:31 in load\n"),
                             HasSubstr("\nrank-0\n  pid 10 (python3)\n    main thread\n"),
                             HasSubstr("      /work/train.py:31 in load\n"),
                             HasSubstr("    1 (python3), state S in hrtimer_nanosleep\n")));
  EXPECT_THAT(stacks_to_json(seen, verdict),
              testing::AllOf(HasSubstr("\"suspects\": [\n    \"rank-1\""),
                             HasSubstr("\"where\": \"elsewhere\"")));
}

}  // namespace
