#include "init/engine/monitor/monitor.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "init/engine/policies.h"
#include "init/proc/load.h"

namespace {

using engine::decode_message;
using engine::encode_message;
using engine::MonitorMessage;
using testing::SizeIs;
using Kind = MonitorMessage::Kind;

TEST(MonitorMessage, ComesAsItWasSent) {
  const MonitorMessage message{
      .kind = Kind::kStalled, .process = 7, .count = 1ULL << 40, .value = -3, .text = "rank-7"};
  EXPECT_EQ(decode_message(static_cast<std::uint32_t>(Kind::kStalled), encode_message(message)),
            message);
}

TEST(MonitorMessage, HasTheResourcesOfEachRank) {
  MonitorMessage message{.kind = Kind::kResources};
  message.resources = engine::ResourceSample{
      .at_ms = 1, .memory_bytes = 1LL << 40, .limit_bytes = -1, .ranks = {{3, 1LL << 36, 77}}};
  EXPECT_EQ(decode_message(static_cast<std::uint32_t>(Kind::kResources), encode_message(message)),
            message);
  message.resources->ranks.resize(engine::kMaxMeasuredRanks);
  EXPECT_LT(encode_message(message).size(), 64U << 10) << "the limit of a message";
}

TEST(MonitorMessage, OfAnyOtherFormIsNone) {
  const std::string bytes = encode_message({.kind = Kind::kMoves});
  EXPECT_TRUE(decode_message(1, bytes));
  EXPECT_FALSE(decode_message(0, bytes));
  EXPECT_FALSE(decode_message(9, bytes));
  EXPECT_FALSE(decode_message(1, bytes.substr(1)));
}

TEST(WatchHooks, AreNoTasksOfTheMachine) {
  envgen::Plan plan;
  plan.processes.resize(1);
  for (const auto event : {envgen::HookEvent::kStall, envgen::HookEvent::kHealth}) {
    envgen::HookGroup group;
    group.event = event;
    group.paths = {"/hook"};
    plan.hooks.push_back(group);
  }
  EXPECT_THAT(engine::cluster_ready(plan).tasks, SizeIs(1));
}

TEST(Load, IsReadFromStat) {
  const auto load = proc::parse_load(
      "12 (a) b (c)) S 1 12 9 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5555 1 2 3");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->pid, 12);
  EXPECT_EQ(load->parent, 1);
  EXPECT_EQ(load->session, 9);
  EXPECT_EQ(load->state, 'S');
  EXPECT_EQ(load->start, 5555U);
  EXPECT_EQ(load->stack, 0U);
  EXPECT_EQ(load->used_ms, 127 * 1000L / ::sysconf(_SC_CLK_TCK))
      << "its own and its dead children's";
  EXPECT_FALSE(proc::parse_load("12 (a) S 1 12"));
  EXPECT_FALSE(proc::parse_load("nonsense"));
}

TEST(Load, HasTheStackWhereTheKernelShowsIt) {
  const auto load = proc::parse_load(
      "12 (a) S 1 12 9 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5555 1 2 18446744073709551615 1 1 "
      "140722974564352 0 0");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->stack, 140'722'974'564'352U);
}

TEST(Load, OfATreeIsThatOfAllBelowItAndOfItsSession) {
  const std::vector<proc::Load> loads = {
      {.pid = 1, .parent = 0, .session = 1, .used_ms = 1000},
      {.pid = 10, .parent = 1, .session = 10, .used_ms = 1},
      {.pid = 11, .parent = 10, .session = 10, .used_ms = 2},
      {.pid = 12, .parent = 11, .session = 12, .used_ms = 4},
      {.pid = 13, .parent = 1, .session = 10, .used_ms = 8},  // adopted
      {.pid = 20, .parent = 1, .session = 20, .used_ms = 500},
  };
  EXPECT_EQ(proc::tree_used_ms(loads, 10), 15);
  EXPECT_THAT(proc::tree_of(loads, 10), testing::ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(proc::tree_used_ms(loads, 20), 500);
}

TEST(Load, ThisProcessIsAmongAll) {
  const auto loads = proc::all_loads();
  EXPECT_NE(std::ranges::find(loads, ::getpid(), &proc::Load::pid), loads.end());
}

}  // namespace
