#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Container host(const std::string& name, const std::string& hosts) {
  Container c = container(name, {});
  c.request.hosts = hosts;
  return c;
}

TEST(Bare, HostsAreNodesInTheirOrder) {
  EXPECT_THAT(detected(host("b", "a:8,b:4")), Pair("bare", "--hosts is given"));
  ResolvedCluster first = resolved_in(locate_bare, host("a", "a:8,b:4"));
  ResolvedCluster last = resolved_in(locate_bare, host("b.example.org", "a:8,b:4"));
  EXPECT_THAT(nodes_of(first), ElementsAre("a x8", "b x4"));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_EQ(first.cluster.world_size, 12);
  EXPECT_EQ(first.cluster.master_addr, "a");
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 1);
  EXPECT_EQ(first.platform.framework, "");
}

TEST(Bare, SlotsThatAreToldNeedNoLookAtTheDevices) {
  Container c = host("a", "a:8,b:4");
  c.snapshot.paths.clear();
  Inputs inputs(c.snapshot, c.request);
  EXPECT_TRUE(std::holds_alternative<ResolvedCluster>(locate_bare(inputs)));
  EXPECT_THAT(inputs.wants(), IsEmpty());
}

TEST(Bare, AHostWithoutSlotsHasThisNodesDevices) {
  EXPECT_THAT(nodes_of(resolved_in(locate_bare, host("a", "a,b:4"))), ElementsAre("a x2", "b x4"));
  Container c = host("a", "a,b:4");
  c.request.slots = 3;
  EXPECT_THAT(nodes_of(resolved_in(locate_bare, c)), ElementsAre("a x3", "b x4"));
}

TEST(Bare, AnAddressIsRecognisedByTheInterfaces) {
  Container c = host("x", "10.0.0.1:8,10.0.0.2:8");
  c.snapshot.facts.addresses = {"192.168.0.1", "10.0.0.2"};
  EXPECT_EQ(resolved_in(locate_bare, c).local_node.node_rank, 1);
  // Addresses have no labels to be cut at.
  c.snapshot.facts.addresses = {"10.9.9.9"};
  EXPECT_THAT(error_in(locate_bare, c), HasSubstr("--hosts"));
}

TEST(Bare, WhoThisIsIsNeverGuessed) {
  Container c = host("x", "a:8,b:8");
  EXPECT_THAT(error_in(locate_bare, c), AllOf(HasSubstr("--hosts"), HasSubstr("called x"),
                                              HasSubstr("a, b"), HasSubstr("--node-rank")));
  c.request.node_rank = 1;
  EXPECT_EQ(resolved_in(locate_bare, c).local_node.node_rank, 1);
  c.request.node_rank = 2;
  EXPECT_THAT(error_in(locate_bare, c), AllOf(HasSubstr("--node-rank"), HasSubstr("0 to 1")));
  EXPECT_THAT(error_in(locate_bare, host("a", "a.one:8,a.two:8")), HasSubstr("2 entries"));
  EXPECT_EQ(resolved_in(locate_bare, host("a.two", "a.one:8,a.two:8")).local_node.node_rank, 1);
}

TEST(Bare, AListThatContradictsItselfIsAnError) {
  EXPECT_THAT(error_in(locate_bare, host("a", "a:8,a:8")), HasSubstr("--hosts"));
  EXPECT_THAT(error_in(locate_bare, host("a", "a:8,a:4")),
              AllOf(HasSubstr("--hosts"), HasSubstr("a twice")));
  EXPECT_THAT(error_in(locate_bare, host("a", ",")), HasSubstr("--hosts"));
  EXPECT_THAT(error_in(locate_bare, host("a", "a:x")), HasSubstr("--hosts"));
  Container c = host("a", "a:8,b:8");
  c.request.nodes = 3;
  EXPECT_THAT(error_in(locate_bare, c), AllOf(HasSubstr("--nodes"), HasSubstr("2 hosts and 3")));
  c.request.nodes.reset();
  c.request.rank_table = "/t.json";
  EXPECT_THAT(error_in(locate_bare, c), AllOf(HasSubstr("--rank-table"), HasSubstr("--hosts")));
}

TEST(Bare, HostsOfThisJobWinOverAnImagesRankTable) {
  Container c = host("a", "a:8,b:8");
  c.snapshot.env.set("RANK_TABLE_FILE", "/image/table.json");
  EXPECT_EQ(detected(c).first, "bare");
  EXPECT_EQ(resolved_in(locate_bare, c).cluster.world_size, 16);
}

TEST(Bare, AMasterMayBeNamed) {
  Container c = host("a", "a:8,b:8");
  c.request.master_addr = "10.0.0.1";
  c.request.master_port = 1234;
  ResolvedCluster resolved = resolved_in(locate_bare, c);
  EXPECT_EQ(resolved.cluster.master_addr, "10.0.0.1");
  EXPECT_EQ(resolved.cluster.master_port, 1234);
}

TEST(Bare, ATorchJobThatSomeoneStartsByHandIsNotGuessed) {
  EXPECT_THAT(detected(container("a", {"MASTER_ADDR=b", "MASTER_PORT=1", "RANK=1", "WORLD_SIZE=2",
                                       "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"})),
              Pair("local", "no platform was recognised"));
}

}  // namespace
}  // namespace envgen
