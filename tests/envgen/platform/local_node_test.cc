#include "envgen/platform/local_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Node node(std::string pod, std::string server, std::string host_ip, std::string container_ip,
          int first_rank) {
  return {.pod_name = std::move(pod),
          .server_id = std::move(server),
          .host_ip = std::move(host_ip),
          .container_ip = std::move(container_ip),
          .devices = {{0, first_rank}, {1, first_rank + 1}}};
}

std::vector<Node> two_pods_on_one_host() {
  return {node("job-0", "10.0.0.1", "10.0.0.1", "172.16.0.1", 0),
          node("job-1", "10.0.0.1", "10.0.0.1", "172.16.0.2", 2)};
}

base::Result<LocalNode> recognise(const std::vector<Node>& nodes, const LocalNodeHints& hints,
                                  std::optional<int> node_rank = {},
                                  std::optional<int> rank_start = {}) {
  Request request;
  request.node_rank = node_rank;
  return recognise_local_node(nodes, request, rank_start, hints);
}

TEST(LocalNode, WhatIsSaidComesFirst) {
  LocalNodeHints hints;
  hints.pod_names = {{"POD_NAME", "job-0"}};
  EXPECT_EQ(recognise(two_pods_on_one_host(), hints, 1)->node_rank, 1);
  EXPECT_EQ(recognise(two_pods_on_one_host(), hints, {}, 2)->node_rank, 1);
}

TEST(LocalNode, APodNameBeatsAnAddress) {
  LocalNodeHints hints;
  hints.pod_names = {{"POD_NAME", "job-1"}};
  hints.container_ips = {{"POD_IP", "172.16.0.1"}};
  auto self = recognise(two_pods_on_one_host(), hints);
  EXPECT_EQ(self->node_rank, 1);
  EXPECT_THAT(self->reason, AllOf(HasSubstr("pod_name"), HasSubstr("POD_NAME")));
}

TEST(LocalNode, OneHostOfTwoPodsIsNoAnswerButTheContainerAddressIs) {
  LocalNodeHints hints;
  hints.host_ips = {{"HOST_IP", "10.0.0.1"}};
  hints.server_ids = {{"HOST_IP", "10.0.0.1"}};
  auto ambiguous = recognise(two_pods_on_one_host(), hints);
  ASSERT_FALSE(ambiguous.has_value());
  EXPECT_THAT(to_line(ambiguous.error()), AllOf(HasSubstr("2 entries"), HasSubstr("--node-rank")));
  hints.container_ips = {{"POD_IP", "172.16.0.2"}};
  EXPECT_EQ(recognise(two_pods_on_one_host(), hints)->node_rank, 1);
}

TEST(LocalNode, NeverTheFirstUnlessThereIsOnlyOne) {
  auto none = recognise(two_pods_on_one_host(), {});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(to_line(none.error()), AllOf(HasSubstr("job-0"), HasSubstr("--node-rank")));
  EXPECT_EQ(recognise({node("", "s", "", "", 0)}, {})->node_rank, 0);
}

TEST(LocalNode, ATableOfAnotherJobIsRefusedEvenWithOneEntry) {
  LocalNodeHints hints;
  hints.pod_names = {{"MA_CURRENT_INSTANCE_NAME", "job-new-0", true}};
  auto stale = recognise({node("job-old-0", "10.0.0.1", "", "", 0)}, hints);
  ASSERT_FALSE(stale.has_value());
  EXPECT_THAT(to_line(stale.error()), AllOf(HasSubstr("job-new-0"), HasSubstr("job-old-0")));
  // Not even where an address of ours stands in it: the next job often gets the same host.
  hints.host_ips = hints.server_ids = {{"MA_CURRENT_HOST_IP", "10.0.0.1"}};
  EXPECT_FALSE(recognise({node("job-old-0", "10.0.0.1", "10.0.0.1", "", 0)}, hints).has_value());
  EXPECT_FALSE(recognise({node("job-old-0", "10.0.0.1", "", "", 0),
                          node("job-old-1", "10.0.0.2", "", "", 2)},
                         hints)
                   .has_value());
  EXPECT_TRUE(recognise({node("job-old-0", "10.0.0.1", "", "", 0)}, hints, 0).has_value());
  // A table without pod names cannot contradict.
  EXPECT_TRUE(recognise({node("", "10.0.0.1", "", "", 0)}, hints).has_value());
}

TEST(LocalNode, NumbersOutsideTheClusterAreRefused) {
  EXPECT_THAT(to_line(recognise(two_pods_on_one_host(), {}, 2).error()), HasSubstr("0 to 1"));
  EXPECT_THAT(to_line(recognise(two_pods_on_one_host(), {}, {}, 1).error()), HasSubstr("0, 2"));
}

}  // namespace
}  // namespace envgen
