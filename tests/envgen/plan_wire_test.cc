#include <gtest/gtest.h>

#include <random>

#include "envgen/plan.h"

namespace envgen {
namespace {

Plan example_plan() {
  Plan plan;
  plan.platform = "modelarts";
  plan.platform_reason = "MA_VJ_NAME is set";
  plan.framework = "ascend";
  plan.self = Self{1, "pod_name"};
  plan.node_count = 2;
  plan.world_size = 16;
  plan.policy = {Success::kFirst, 25000, 1800000, 14400000};
  for (int rank = 8; rank < 10; ++rank) {
    Process process;
    process.name = "rank-" + std::to_string(rank);
    process.rank = rank;
    process.device = rank - 8;
    process.argv = {"python", "train.py", "", std::string("odd\0byte", 8)};
    process.cwd = "/work/device0";
    process.env = {{EnvEdit::Kind::kSet, "RANK_ID", std::to_string(rank)},
                   {EnvEdit::Kind::kUnset, "RANK", ""},
                   {EnvEdit::Kind::kPrependPath, "PATH", "/opt/bin"}};
    process.log = "/logs/x.log";
    plan.processes.push_back(process);
  }
  plan.warnings = {"one", "two"};
  return plan;
}

TEST(PlanWire, CarriesAllThatPid1Needs) {
  auto decoded = decode_plan(encode_plan(example_plan()));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, example_plan());
}

TEST(PlanWire, LeavesOutWhatTheResolverHasDone) {
  Plan plan = example_plan();
  plan.files.push_back({"/run/table.json", 0644, std::string(1 << 20, 'x')});
  plan.cluster = Cluster{};
  EXPECT_EQ(encode_plan(plan), encode_plan(example_plan()));
}

TEST(PlanWire, EveryTruncationIsRefused) {
  std::string bytes = encode_plan(example_plan());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_plan(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_plan(bytes + 'x').has_value());
}

TEST(PlanWire, FlippedBytesNeverReadOutsideOrAskForMoreThanTheyBring) {
  const std::string good = encode_plan(example_plan());
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    auto decoded = decode_plan(bytes);
    if (!decoded) continue;
    EXPECT_LE(decoded->processes.size(), bytes.size());
    for (const Process& process : decoded->processes) EXPECT_FALSE(process.argv.empty());
  }
}

}  // namespace
}  // namespace envgen
