// LSF and PBS: that all nodes of a job fit together is tests/sim's.

#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::HasSubstr;

Container on(const std::string& host, Words variables, int gpus = 0) {
  Container one;
  one.host_name = host;
  one.variables = std::move(variables);
  Words devices = {"null"};
  for (int i = 0; i < gpus; ++i) devices.push_back("nvidia" + std::to_string(i));
  one.paths["/dev"] = directory(devices);
  return one;
}

Request asks(const char* framework) {
  Request request = request_of({"python", "train.py"});
  request.framework = framework;
  return request;
}

std::string nodes_text(const ResolvedCluster& resolved) {
  std::string text = std::to_string(resolved.local_node.node_rank) + " of";
  for (const Node& node : resolved.cluster.nodes) {
    text += " " + node.host + ":" + std::to_string(node.slots);
  }
  return text;
}

std::string seen(const char* platform, const Words& variables, const Request& request) {
  Snapshot snapshot;
  snapshot.env = base::Environ(variables);
  Inputs inputs(snapshot, request);
  return platform_named(platform).detect(inputs).value_or("");
}

TEST(Batch, AJobsScriptIsAnOrdinaryCommand) {
  const Request plain = request_of({"./run.sh"});
  EXPECT_EQ(seen("lsf", {"LSB_MCPU_HOSTS=a 8"}, plain), "");
  EXPECT_EQ(seen("pbs", {"PBS_NODEFILE=/nodes"}, plain), "");
  EXPECT_EQ(seen("lsf", {"LSB_MCPU_HOSTS=a 8"}, asks("mpi")), "LSB_MCPU_HOSTS is set");
  EXPECT_EQ(seen("pbs", {"PBS_NODEFILE=/nodes"}, asks("mpi")), "PBS_NODEFILE is set");
}

TEST(Lsf, HasEachHostWithItsSlotsOrOnceForEach) {
  EXPECT_EQ(nodes_text(locate("lsf", on("b", {"LSB_MCPU_HOSTS=a 8 b 4"}), asks("mpi"))),
            "1 of a:8 b:4");
  EXPECT_EQ(nodes_text(locate("lsf", on("b", {"LSB_HOSTS=a a b"}), asks("mpi"))), "1 of a:2 b:1");
}

TEST(Lsf, DevicesAreCountedBeforeProcessors) {
  EXPECT_EQ(nodes_text(locate("lsf", on("b", {"LSB_MCPU_HOSTS=a 64 b 64"}, 4), asks("pytorch"))),
            "1 of a:4 b:4");
}

TEST(Lsf, OneHostNeedsNoName) {
  EXPECT_EQ(nodes_text(locate("lsf", on("x", {"LSB_MCPU_HOSTS=a 8"}), asks("mpi"))), "0 of a:8");
}

// On systems with jsrun the job's script has a node of its own, at the front of the list.
TEST(Lsf, ALaunchNodeRunsNoRanks) {
  const Words lists = {"LSB_MCPU_HOSTS=batch2 1 h1 3 h2 3", "LSB_HOSTS=batch2 h1 h1 h1 h2 h2 h2"};
  for (const std::string& list : lists) {
    const ResolvedCluster resolved = locate("lsf", on("h2", {list}, 6), asks("pytorch"));
    EXPECT_EQ(nodes_text(resolved), "1 of h1:6 h2:6");
    EXPECT_THAT(resolved.warnings, testing::ElementsAre(HasSubstr("batch2 first, with one slot")));
    EXPECT_THAT(refusal("lsf", on("batch2", {list}), asks("pytorch")), HasSubstr("jsrun"));
    EXPECT_EQ(nodes_text(locate("lsf", on("h1", {list, "CSM_ALLOCATION_ID=7"}), asks("mpi"))),
              "0 of h1:3 h2:3");
  }
  EXPECT_EQ(
      nodes_text(locate("lsf", on("h1", {"LSB_MCPU_HOSTS=b 1 h1 42", "CSM_ALLOCATION_ID=7"}, 6),
                        asks("pytorch"))),
      "0 of h1:6");
  EXPECT_EQ(nodes_text(locate("lsf",
                              on("h1", {"LSB_MCPU_HOSTS=b 1 h1 1 h2 1", "JSM_NAMESPACE_SIZE=2",
                                        "JSM_NAMESPACE_RANK=0"}),
                              asks("pytorch"))),
            "0 of h1:1 h2:1");
}

TEST(Lsf, AFirstHostOfFewSlotsIsANode) {
  EXPECT_EQ(nodes_text(locate("lsf", on("a", {"LSB_MCPU_HOSTS=a 1 b 4 c 4"}), asks("mpi"))),
            "0 of a:1 b:4 c:4");
  for (const char* list : {"a 2 b 4 c 4", "a 1 b 4 c 3", "a 1 b 1 c 1"}) {
    EXPECT_THAT(nodes_text(locate("lsf", on("a", {std::string("LSB_MCPU_HOSTS=") + list}, 4),
                                  asks("pytorch"))),
                "0 of a:4 b:4 c:4");
  }
}

// `bsub -n 5` gives the first host what is free there.
TEST(Lsf, OfTwoHostsTheFirstIsANodeUnlessAVariableSaysMore) {
  for (const char* host : {"h1", "h2"}) {
    EXPECT_THAT(
        nodes_text(locate("lsf", on(host, {"LSB_MCPU_HOSTS=h1 1 h2 4"}, 4), asks("pytorch"))),
        HasSubstr("of h1:4 h2:4"));
  }
}

TEST(Lsf, RefusesAListThatIsNone) {
  for (const char* list : {"a", "a b", "a 8 a 8", "a 0", "a -1"}) {
    EXPECT_THAT(refusal("lsf", on("a", {std::string("LSB_MCPU_HOSTS=") + list}), asks("mpi")),
                HasSubstr("LSB_MCPU_HOSTS"))
        << list;
  }
  EXPECT_THAT(refusal("lsf", on("c", {"LSB_MCPU_HOSTS=a 8 b 8"}), asks("mpi")),
              HasSubstr("--node-rank"));
}

TEST(Pbs, HasALineForEachSlot) {
  Container one = on("b.cluster", {"PBS_NODEFILE=/nodes", "PBS_JOBID=7.server"});
  one.paths["/nodes"] = file("a\nb\na\nb\nb\n");
  const ResolvedCluster resolved = locate("pbs", one, asks("mpi"));
  EXPECT_EQ(nodes_text(resolved), "1 of a:2 b:3");
  EXPECT_EQ(resolved.platform.job_id, "7.server");
}

TEST(Pbs, SaysThatTheFileIsMissing) {
  EXPECT_THAT(refusal("pbs", on("a", {"PBS_NODEFILE=/nodes"}), asks("mpi")),
              testing::AllOf(HasSubstr("/nodes"), HasSubstr("--hosts")));
}

}  // namespace
}  // namespace envgen::jobs
