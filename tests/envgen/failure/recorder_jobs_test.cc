// Simulated jobs of 16 ranks (2 tensor, 2 expert and 4 pipeline parallel), of which one or two fail
// at a random moment: the interpreter stops, or the device, whose recorder then sees no end of
// operations any more. Whatever happens, the verdict names no other rank.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "envgen/failure/recorder_verdict.h"

namespace {

constexpr int kRanks = 16;
constexpr int kStages = 4;
constexpr int kMicrobatches = 6;
constexpr std::int64_t kNow = 1'700'000'000'000;

struct Op {
  std::string group;
  std::string name;
  int peer = -1;          // of a transfer
  int sequence = 0;       // as the recorder counts
  int match = 0;          // of a transfer: the number of those in this direction between the two
  std::size_t needs = 0;  // waits of the compute stream in front of it
  bool done = false;
  bool seen = false;  // its end, by the recorder
};

// The host's next steps.
struct Step {
  enum class Kind { kEnqueue, kWait, kSync } kind = Kind::kSync;
  std::string group = {}, name = {};
  int peer = -1;
  int slot = 0;  // names an operation of this rank for kWait
};

struct SimulatedRank {
  std::vector<Step> program;
  std::size_t at = 0;
  std::vector<Op> ops;
  std::map<int, std::size_t> slots;
  std::vector<std::size_t> waits;  // of the compute stream, in order: operations
  std::size_t waited = 0;          // of them done
  std::map<std::string, int> collectives, transfers;
  std::map<std::pair<std::string, int>, int> matches;
  bool host_stopped = false, device_stopped = false, blind = false;
};

struct Options {
  bool preposted = false;  // receives one step ahead
  bool buffered = false;   // a send ends before it is received
  bool host_syncs = true;  // after each exchange of experts
};

class SimulatedJob {
 public:
  SimulatedJob(unsigned seed, Options options) : random_(seed), options_(options) {
    for (int rank = 0; rank < kRanks; ++rank) make_program(rank);
  }
  int roll(int below) { return std::uniform_int_distribution<>(0, below - 1)(random_); }

  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      SimulatedRank& rank = ranks_[static_cast<std::size_t>(roll(kRanks))];
      for (int steps = roll(6); steps > 0; --steps) advance_host(rank);
      if (roll(4) == 0) advance_devices();
    }
  }
  void settle() {
    bool changed = true;
    while (changed) {
      changed = advance_devices();
      for (SimulatedRank& rank : ranks_) {
        while (advance_host(rank)) changed = true;
      }
    }
  }
  SimulatedRank& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(
        ranks_, [](const SimulatedRank& rank) { return rank.at == rank.program.size(); });
  }
  [[nodiscard]] envgen::RecorderDump dump(int rank) const;

 private:
  static int stage_of(int rank) { return rank / 4; }
  static std::vector<envgen::RankRun> members(const std::string& group, int rank);
  static std::string name_of(const std::string& group, int rank);
  void make_program(int rank);
  bool advance_host(SimulatedRank& rank);
  bool advance_devices();
  [[nodiscard]] bool is_runnable(const SimulatedRank& rank, std::size_t op) const;
  [[nodiscard]] bool is_there(int rank, const Op& op) const;
  [[nodiscard]] const Op* find(int rank, const Op& op) const;

  std::mt19937 random_;
  Options options_;
  std::vector<SimulatedRank> ranks_ = std::vector<SimulatedRank>(kRanks);
};

// A group's description, and a name that is the same on its members: "TP 3".
std::string SimulatedJob::name_of(const std::string& group, int rank) {
  if (group == "TP") return "TP " + std::to_string(rank / 2);
  if (group == "EP") return "EP " + std::to_string(rank / 4);
  if (group == "PP") return "PP " + std::to_string(rank % 4);
  if (group == "DP") return "DP " + std::to_string(rank / 4) + " " + std::to_string(rank % 2);
  return "world";
}

std::vector<envgen::RankRun> SimulatedJob::members(const std::string& group, int rank) {
  if (group == "TP") return {{rank / 2 * 2, 2, 1}};
  if (group == "EP") return {{rank / 4 * 4, 4, 1}};
  if (group == "PP") return {{rank % 4, kStages, 4}};
  if (group == "DP") return {{rank / 4 * 4 + rank % 2, 2, 2}};
  return {{0, kRanks, 1}};
}

void SimulatedJob::make_program(int rank) {
  std::vector<Step>& program = this->rank(rank).program;
  int slot = 0;
  const int stage = stage_of(rank);
  const auto collective = [&](const char* group, const char* name) {
    program.push_back({Step::Kind::kEnqueue, group, name, -1, ++slot});
    program.push_back({Step::Kind::kWait, "", "", -1, slot});
  };
  const auto block = [&] {
    collective("TP", "all_gather");
    collective("EP", "all_to_all");
    if (options_.host_syncs) program.push_back({});
    collective("EP", "all_to_all");
    collective("TP", "reduce_scatter");
  };
  // Forward and backward passes, one by one behind a warm-up.
  std::vector<bool> passes;
  for (int i = 0; i < std::min(kStages - 1 - stage, kMicrobatches); ++i) passes.push_back(true);
  const int warm = static_cast<int>(passes.size());
  for (int i = 0; i < kMicrobatches - warm; ++i) passes.insert(passes.end(), {true, false});
  for (int i = 0; i < warm; ++i) passes.push_back(false);
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::deque<int> posted;
    const auto post = [&](std::size_t pass) {
      const int from = passes[pass] ? stage - 1 : stage + 1;
      posted.push_back(-1);
      if (from < 0 || from >= kStages) return;
      program.push_back({Step::Kind::kEnqueue, "PP", "recv", from * 4 + rank % 4, ++slot});
      posted.back() = slot;
    };
    if (options_.preposted) post(0);
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
      if (!options_.preposted) post(pass);
      if (options_.preposted && pass + 1 < passes.size()) post(pass + 1);
      if (posted.front() >= 0) program.push_back({Step::Kind::kWait, "", "", -1, posted.front()});
      posted.pop_front();
      block();
      const int to = passes[pass] ? stage + 1 : stage - 1;
      if (to < 0 || to >= kStages) continue;
      program.push_back({Step::Kind::kEnqueue, "PP", "send", to * 4 + rank % 4, ++slot});
    }
    collective("DP", "all_reduce");
    collective("world", "all_reduce");
    program.push_back({});
  }
}

bool SimulatedJob::advance_host(SimulatedRank& rank) {
  if (rank.host_stopped || rank.at == rank.program.size()) return false;
  const Step& step = rank.program[rank.at];
  if (step.kind == Step::Kind::kSync) {
    if (rank.waited != rank.waits.size()) return false;
  } else if (step.kind == Step::Kind::kWait) {
    rank.waits.push_back(rank.slots.at(step.slot));
  } else {
    Op op{.group = step.group, .name = step.name, .peer = step.peer, .needs = rank.waits.size()};
    op.sequence = step.peer >= 0 ? ++rank.transfers[step.group] : ++rank.collectives[step.group];
    if (step.peer >= 0) op.match = ++rank.matches[{step.name, step.peer}];
    rank.slots[step.slot] = rank.ops.size();
    rank.ops.push_back(op);
  }
  ++rank.at;
  return true;
}

// Behind all that the compute stream waits for, and first of its stream: a group's, of transfers
// that of a direction and a peer.
bool SimulatedJob::is_runnable(const SimulatedRank& rank, std::size_t op) const {
  const Op& own = rank.ops[op];
  if (rank.device_stopped || rank.waited < own.needs) return false;
  return std::all_of(rank.ops.begin(), rank.ops.begin() + static_cast<std::ptrdiff_t>(op),
                     [&own](const Op& other) {
                       return other.done || other.group != own.group || other.peer != own.peer ||
                              (own.peer >= 0 && other.name != own.name);
                     });
}

const Op* SimulatedJob::find(int rank, const Op& op) const {
  const auto& ops = ranks_[static_cast<std::size_t>(rank)].ops;
  const auto found = std::ranges::find_if(ops, [&op](const Op& other) {
    return other.group == op.group && other.peer < 0 && other.sequence == op.sequence;
  });
  return found == ops.end() ? nullptr : &*found;
}

bool SimulatedJob::is_there(int rank, const Op& op) const {
  const SimulatedRank& its = ranks_[static_cast<std::size_t>(rank)];
  const Op* other = find(rank, op);
  return other != nullptr &&
         (other->done || is_runnable(its, static_cast<std::size_t>(other - its.ops.data())));
}

bool SimulatedJob::advance_devices() {
  bool changed = false;
  for (int i = 0; i < kRanks; ++i) {
    SimulatedRank& rank = ranks_[static_cast<std::size_t>(i)];
    for (std::size_t at = 0; at < rank.ops.size(); ++at) {
      Op& op = rank.ops[at];
      if (op.done || !is_runnable(rank, at)) continue;
      if (op.peer < 0) {
        const auto run = members(op.group, i)[0];
        bool all = true;
        for (int k = 0; k < run.count && all; ++k) all = is_there(run.first + k * run.step, op);
        if (!all) continue;
      } else if (!options_.buffered || op.name == "recv") {
        const SimulatedRank& its = ranks_[static_cast<std::size_t>(op.peer)];
        const auto other = std::ranges::find_if(its.ops, [&](const Op& one) {
          return one.peer == i && one.name != op.name && one.match == op.match;
        });
        if (other == its.ops.end()) continue;
        const auto place = static_cast<std::size_t>(other - its.ops.begin());
        if (!other->done && !is_runnable(its, place)) continue;
      }
      op.done = changed = true;
      if (!rank.blind) op.seen = true;
    }
    while (rank.waited < rank.waits.size() && rank.ops[rank.waits[rank.waited]].done) {
      ++rank.waited;
      changed = true;
    }
  }
  return changed;
}

envgen::RecorderDump SimulatedJob::dump(int rank) const {
  const SimulatedRank& its = ranks_[static_cast<std::size_t>(rank)];
  envgen::RecorderDump dump{.rank = rank, .version = "2.9", .written_ms = kNow, .all_groups = true};
  std::map<std::string, std::uint32_t> places;
  std::int64_t created_ms = kNow - 60'000;
  for (const Op& op : its.ops) {
    const auto [place, added] =
        places.emplace(op.group, static_cast<std::uint32_t>(dump.groups.size()));
    if (added) {
      dump.groups.push_back({.name = name_of(op.group, rank),
                             .description = op.group,
                             .ranks = members(op.group, rank)});
    }
    envgen::RecordedGroup& group = dump.groups[place->second];
    group.enqueued = op.sequence;
    if (op.seen) {
      group.completed = op.sequence;
      continue;
    }
    if (op.peer >= 0) group.point_to_point = true;
    if (op.peer < 0) group.seen = op.sequence;
    dump.pending.push_back({.group = place->second,
                            .name = op.name,
                            .sequence = op.sequence,
                            .peer = op.peer,
                            .created_ms = ++created_ms});
  }
  return dump;
}

enum class Fault { kHost, kDevice };

// How many of the ranks that failed the verdict names.
int check(unsigned seed, Options options, Fault fault, int failing) {
  SimulatedJob job(seed, options);
  job.run(200 + job.roll(2500));
  std::set<int> failed;
  while (std::ssize(failed) < failing) failed.insert(job.roll(kRanks));
  for (const int rank : failed) {
    if (fault == Fault::kHost) job.rank(rank).host_stopped = true;
    if (fault == Fault::kDevice) job.rank(rank).blind = true;
  }
  if (fault == Fault::kDevice) {
    // Its host goes on for a while, as its device does.
    job.run(job.roll(400));
    for (const int rank : failed) job.rank(rank).device_stopped = true;
    job.run(job.roll(40));
    for (const int rank : failed) job.rank(rank).host_stopped = job.roll(2) == 0;
  }
  job.settle();
  if (job.finished()) return 0;
  std::vector<envgen::RecorderDump> dumps;
  for (int rank = 0; rank < kRanks; ++rank) dumps.push_back(job.dump(rank));
  const auto verdict = envgen::judge_recorder(dumps, kRanks);
  int named = 0;
  for (const int rank : verdict.culprits) {
    const bool right = failed.contains(rank);
    EXPECT_TRUE(right) << "seed " << seed << ", failed " << *failed.begin() << " and "
                       << *failed.rbegin() << ": " << verdict.text;
    if (right) ++named;
  }
  return named;
}

class RecorderJobs : public testing::TestWithParam<std::tuple<Options, Fault, int>> {};

TEST_P(RecorderJobs, NameNoInnocentRank) {
  const auto& [options, fault, failing] = GetParam();
  constexpr int kSeeds = 12;
  int told = 0;  // jobs in which a rank was named
  for (int seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    if (check(static_cast<unsigned>(seed), options, fault, failing) > 0) ++told;
  }
  // A device that fails without a trace cannot be told from the network.
  EXPECT_GE(told, fault == Fault::kHost ? kSeeds : kSeeds / 3);
}

INSTANTIATE_TEST_SUITE_P(
    All, RecorderJobs,
    testing::Combine(testing::Values(Options{}, Options{.preposted = true},
                                     Options{.buffered = true},
                                     Options{.preposted = true, .buffered = true},
                                     Options{.preposted = true, .host_syncs = false}),
                     testing::Values(Fault::kHost, Fault::kDevice), testing::Values(1, 2)));

}  // namespace
