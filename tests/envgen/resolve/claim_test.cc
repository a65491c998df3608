#include "envgen/resolve/claim.h"

#include <gtest/gtest.h>

namespace envgen {
namespace {

Plan two_ranks() {
  Plan plan;
  plan.framework = "pytorch";
  plan.world_size = 2;
  for (int rank = 0; rank < 2; ++rank) {
    Process process;
    process.name = "rank-" + std::to_string(rank);
    process.rank = rank;
    process.argv = {"python", "train.py"};
    process.cwd = "/srv/job";
    process.env = {{base::EnvEdit::Kind::kSet, "MASTER_PORT", "29500"}};
    plan.processes.push_back(process);
  }
  return plan;
}

std::uint64_t claim(const Plan& plan, const std::vector<std::string>& env = {"A=1", "B=2"}) {
  return claim_of(plan, base::Environ(env), "/run/trainit");
}

TEST(Claim, IsOfWhatANodeRuns) {
  const Plan plan = two_ranks();
  const std::uint64_t same = claim(plan);
  EXPECT_NE(same, 0U);
  EXPECT_EQ(claim(plan, {"B=2", "A=1", "_=/usr/bin/x", "SHLVL=3"}), same);
  EXPECT_NE(claim(plan, {"A=1", "B=3"}), same);
  Plan other = plan;
  other.processes[1].argv.emplace_back("--lr");
  EXPECT_NE(claim(other), same);
  other = plan;
  other.processes[0].cwd = "/srv/other";
  EXPECT_NE(claim(other), same);
  other = plan;
  for (Process& process : other.processes) process.env[0].value = "29501";
  EXPECT_NE(claim(other), same);
  other = plan;
  other.local_node = LocalNode{.node_rank = 1, .reason = ""};
  EXPECT_NE(claim(other), same);
}

TEST(Claim, IsNotOfAnInstance) {
  Plan plan = two_ranks();
  plan.free_master_port = true;
  const std::uint64_t same = claim(plan);
  Plan second = plan;
  for (Process& process : second.processes) {
    process.env[0].value = "40001";  // another that is free
    process.argv.emplace_back("--out=/run/trainit/errors");
  }
  EXPECT_EQ(claim(second), same);
}

// Nodes with a link: the address and the port decide, not what a launcher gave each process.
TEST(Claim, OfSeveralNodesIsWithoutTheEnvironment) {
  Plan plan = two_ranks();
  plan.node_count = 2;
  plan.link = NodeLink{.address = "a", .port = 3400};
  EXPECT_EQ(claim(plan, {"X_RANK=0"}), claim(plan, {"X_RANK=1"}));
  Plan other = plan;
  other.link->port = 3401;
  EXPECT_NE(claim(other), claim(plan));
}

TEST(Claim, IsNoneWhereTwiceDoesNoHarm) {
  Plan plan = two_ranks();
  plan.world_size = 1;
  EXPECT_EQ(claim(plan), 0U);
  plan = two_ranks();
  plan.framework = "single";
  EXPECT_EQ(claim(plan), 0U);
  plan = two_ranks();
  plan.processes.clear();
  EXPECT_EQ(claim(plan), 0U);
}

}  // namespace
}  // namespace envgen
