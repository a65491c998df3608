#include "tests/envgen/platform/platform_case.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A pod of an Indexed Job with a headless service: the kubelet writes its full name.
Container indexed_pod(int index) {
  std::string name = "train-" + std::to_string(index);
  Container c = container(name, {"JOB_COMPLETION_INDEX=" + std::to_string(index)});
  c.snapshot.paths["/etc/hosts"] =
      file_of("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n172.16.0.5\t" + name +
              ".svc.ns.svc.cluster.local\t" + name + "\n");
  c.request.nodes = 12;
  return c;
}

TEST(Indexed, IsDetectedByItsIndex) {
  EXPECT_THAT(detected(indexed_pod(0)), Pair("indexed", "JOB_COMPLETION_INDEX is set"));
  EXPECT_THAT(detected(container("x", {"JOBSET_NAME=s", "JOB_INDEX=0"})),
              Pair("indexed", "JOB_INDEX is set"));
  EXPECT_EQ(detected(container("x", {"JOB_INDEX=0"})).first, "local");
}

TEST(Indexed, TheServiceInTheOwnFullNameNamesThePods) {
  ResolvedCluster first = resolved_in(locate_indexed, indexed_pod(0));
  ResolvedCluster last = resolved_in(locate_indexed, indexed_pod(11));
  EXPECT_EQ(first.cluster, last.cluster);
  ASSERT_EQ(first.cluster.nodes.size(), 12u);
  EXPECT_EQ(first.cluster.nodes[11].host, "train-11.svc.ns.svc.cluster.local");
  EXPECT_EQ(first.cluster.master_addr, "train-0.svc.ns.svc.cluster.local");
  EXPECT_EQ(first.cluster.world_size, 24);
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 11);
  EXPECT_THAT(first.warnings, IsEmpty());
}

TEST(Indexed, AFullHostNameIsAsGood) {
  Container c = indexed_pod(3);
  c.snapshot.facts.host_name = "train-3.svc";
  c.snapshot.paths["/etc/hosts"] = file_of("");
  EXPECT_EQ(resolved_in(locate_indexed, c).cluster.nodes[0].host, "train-0.svc");
}

TEST(Indexed, WithoutAServiceThePeersHaveNoName) {
  Container c = indexed_pod(1);
  c.snapshot.paths["/etc/hosts"] = file_of("172.16.0.5\ttrain-1\n");
  c.request.nodes = 2;
  ResolvedCluster resolved = resolved_in(locate_indexed, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("? x2", "? x2"));
  EXPECT_THAT(resolved.warnings,
              ElementsAre(AllOf(HasSubstr("headless"), HasSubstr("--master-addr"))));
  c.request.master_addr = "10.0.0.1";
  resolved = resolved_in(locate_indexed, c);
  EXPECT_EQ(resolved.cluster.master_addr, "10.0.0.1");
  EXPECT_THAT(resolved.warnings, IsEmpty());
}

TEST(Indexed, ANameThatIsNotTheJobsNamesNobody) {
  Container c = indexed_pod(1);
  c.snapshot.facts.host_name = "machine-7.example";
  EXPECT_EQ(resolved_in(locate_indexed, c).cluster.nodes[0].host, "");
}

TEST(Indexed, VariablesThatTheManifestFillsCountThePods) {
  Container c = indexed_pod(1);
  c.request.nodes.reset();
  for (const auto& [variable, nodes] :
       {std::pair{"JAX_NUM_PROCESSES=3", 3U}, std::pair{"PET_NNODES=4", 4U},
        std::pair{"JOB_COMPLETIONS=5", 5U}, std::pair{"DMLC_NUM_WORKER=12", 6U}}) {
    Container told = c;
    const std::string_view text(variable);
    const std::size_t equals = text.find('=');
    told.snapshot.env.set(text.substr(0, equals), text.substr(equals + 1));
    EXPECT_EQ(resolved_in(locate_indexed, told).cluster.nodes.size(), nodes) << variable;
  }
  c.snapshot.env.set("JOB_COMPLETIONS", "1");
  EXPECT_THAT(error_in(locate_indexed, c),
              AllOf(HasSubstr("1 in a job of 1"), HasSubstr("JOB_COMPLETIONS")));
}

TEST(Indexed, HowManyPodsThereAreHasToBeSaid) {
  Container c = indexed_pod(1);
  c.request.nodes.reset();
  const ResolvedCluster uncounted = resolved_in(locate_indexed, c);
  EXPECT_THAT(uncounted.cluster.nodes, IsEmpty());
  ASSERT_TRUE(uncounted.platform.uncounted);
  EXPECT_THAT(to_line(*uncounted.platform.uncounted),
              AllOf(HasSubstr("JOB_COMPLETION_INDEX"), HasSubstr("--nodes")));
  c.request.nodes = 1;
  EXPECT_THAT(error_in(locate_indexed, c),
              AllOf(HasSubstr("1 in a job of 1"), HasSubstr("--nodes")));
  c.snapshot.env.set("JOB_COMPLETION_INDEX", "first");
  EXPECT_THAT(error_in(locate_indexed, c), HasSubstr("whole number"));
}

TEST(Indexed, HostsMayBeListed) {
  Container c = indexed_pod(1);
  c.request.nodes.reset();
  c.request.hosts = "a:4,b";
  ResolvedCluster resolved = resolved_in(locate_indexed, c);
  EXPECT_THAT(nodes_of(resolved), ElementsAre("a x4", "b x2"));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

// A pod of a JobSet whose job "node" has 2 replicas of 3 pods.
Container set_pod(int job, int completion) {
  Container c = container("llm-node-" + std::to_string(job) + "-" + std::to_string(completion),
                          {"JOB_COMPLETION_INDEX=" + std::to_string(completion), "JOBSET_NAME=llm",
                           "REPLICATED_JOB_NAME=node", "REPLICATED_JOB_REPLICAS=2",
                           "JOB_INDEX=" + std::to_string(job)});
  c.request.nodes = 6;
  return c;
}

TEST(IndexedJobSet, PodsCountThroughTheReplicas) {
  ResolvedCluster first = resolved_in(locate_indexed, set_pod(0, 0));
  ResolvedCluster last = resolved_in(locate_indexed, set_pod(1, 2));
  EXPECT_EQ(first.cluster, last.cluster);
  EXPECT_THAT(nodes_of(first),
              ElementsAre("llm-node-0-0.llm x2", "llm-node-0-1.llm x2", "llm-node-0-2.llm x2",
                          "llm-node-1-0.llm x2", "llm-node-1-1.llm x2", "llm-node-1-2.llm x2"));
  EXPECT_EQ(first.local_node.node_rank, 0);
  EXPECT_EQ(last.local_node.node_rank, 5);
}

TEST(IndexedJobSet, TheServicesOwnNameWins) {
  Container c = set_pod(1, 0);
  c.snapshot.paths["/etc/hosts"] = file_of("172.16.0.5 llm-node-1-0.net.ns.svc llm-node-1-0\n");
  EXPECT_EQ(resolved_in(locate_indexed, c).cluster.nodes[0].host, "llm-node-0-0.net.ns.svc");
}

TEST(IndexedJobSet, AReplicaIsAPodWhenItsJobIsNotIndexed) {
  Container c = set_pod(1, 0);
  c.snapshot.env.unset("JOB_COMPLETION_INDEX");
  c.request.nodes.reset();
  ResolvedCluster resolved = resolved_in(locate_indexed, c);
  EXPECT_EQ(resolved.cluster.nodes.size(), 2u);
  EXPECT_EQ(resolved.local_node.node_rank, 1);
}

TEST(IndexedJobSet, TheIndexOverAllJobsCountsWhenThereIsOneJob) {
  Container c = set_pod(1, 2);
  c.snapshot.env.unset("JOB_INDEX");
  c.snapshot.env.set("JOB_GLOBAL_INDEX", "1");
  EXPECT_THAT(error_in(locate_indexed, c), HasSubstr("JOB_INDEX"));
  c.snapshot.env.set("GLOBAL_REPLICAS", "2");
  EXPECT_EQ(resolved_in(locate_indexed, c).local_node.node_rank, 5);
}

TEST(IndexedJobSet, ContradictionsAreErrors) {
  Container c = set_pod(1, 2);
  c.request.nodes = 5;
  EXPECT_THAT(error_in(locate_indexed, c), AllOf(HasSubstr("--nodes"), HasSubstr("5 and 2")));
  c = set_pod(2, 0);
  EXPECT_THAT(error_in(locate_indexed, c), AllOf(HasSubstr("JOB_INDEX"), HasSubstr("2 of 2")));
  c = set_pod(1, 3);
  EXPECT_THAT(error_in(locate_indexed, c), HasSubstr("3 in a job of 3"));
  c = set_pod(1, 0);
  c.snapshot.env.unset("REPLICATED_JOB_REPLICAS");
  EXPECT_THAT(error_in(locate_indexed, c), HasSubstr("replicatedjob-replicas"));
  c = set_pod(1, 0);
  c.request.nodes.reset();
  EXPECT_TRUE(resolved_in(locate_indexed, c).platform.uncounted) << "for who has to know it";
}

}  // namespace
}  // namespace envgen
