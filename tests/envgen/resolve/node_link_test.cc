#include "envgen/resolve/node_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "envgen/framework/ssh.h"
#include "envgen/resolve/resolve.h"
#include "tests/envgen/job_builder.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using Words = std::vector<std::string>;

// A node of a job.
struct Job {
  Tree tree = {};
  Request request = {};
  Words variables = {"PATH=/usr/bin"};

  Job(std::string framework, std::string hosts, int node_rank, Words command) {
    request.framework = std::move(framework);
    request.hosts = std::move(hosts);
    request.node_rank = node_rank;
    request.command = std::move(command);
    tree.directory("/usr/bin").file("/usr/bin/python").file("/usr/bin/torchrun");
  }
  [[nodiscard]] Plan plan() const {
    Snapshot snapshot;
    snapshot.env = base::Environ(variables);
    snapshot.facts.cwd = "/srv/job";
    snapshot.facts.run_dir = "/run/trainit";
    snapshot.facts.program = "/trainit";
    snapshot.facts.addresses = {"10.0.0.1"};
    Outcome result = resolve_in(tree, snapshot, request).outcome;
    if (auto* planned = std::get_if<Planned>(&result)) return std::move(planned->plan);
    const auto* error = std::get_if<base::Error>(&result);
    ADD_FAILURE() << (error == nullptr ? "pending" : to_line(*error));
    return {};
  }
};

Job pytorch(int node_rank = 0, std::string hosts = "a:2,b:2") {
  return {"pytorch", std::move(hosts), node_rank, {"python", "train.py"}};
}

Job tensorflow(const std::string& cluster, const std::string& task) {
  Job job("", "", 0, {"python", "train.py"});
  job.request.node_rank.reset();
  job.request.platform = "kubeflow";
  job.variables.push_back(R"(TF_CONFIG={"cluster":)" + cluster + R"(,"task":)" + task + "}");
  return job;
}

// The machine's address is 10.0.0.1.
Job counted(int node_rank, std::string master) {
  Job job = pytorch(node_rank, "");
  job.request.nodes = 2;
  job.request.master_addr = std::move(master);
  return job;
}

// Each pod of an unnumbered rendezvous is node 0 to trainit.
TEST(NodeLink, NodesThatTheRendezvousNumbersHaveNone) {
  Job job("", "", 0, {"python", "train.py"});
  job.request.node_rank.reset();
  job.request.platform = "kubeflow";
  job.request.master_addr = "10.0.0.9";
  job.request.restart_across_nodes = true;
  job.variables = {"PATH=/usr/bin", "PET_NNODES=2", "PET_NPROC_PER_NODE=2",
                   "PET_RDZV_BACKEND=etcd-v2", "PET_RDZV_ENDPOINT=etcd:2379"};
  const Plan plan = job.plan();
  EXPECT_FALSE(plan.link);
  EXPECT_EQ(plan.policy.max_restarts, 0);
  job.request.node_rank = 1;
  EXPECT_TRUE(job.plan().link);
}

TEST(Identity, AMastersAddressThatDoesNotFitTheNumberIsWarnedOf) {
  EXPECT_THAT(counted(0, "10.0.0.2").plan().warnings,
              testing::Contains(testing::HasSubstr("10.0.0.2 is none of this machine's")));
  EXPECT_THAT(counted(1, "10.0.0.1").plan().warnings,
              testing::Contains(testing::HasSubstr("10.0.0.1 is this machine's own")));
  for (const Job& fits : {counted(0, "10.0.0.1"), counted(1, "10.0.0.2"), counted(0, "a"),
                          counted(1, "127.0.0.1"), counted(0, "fd00::1")}) {
    EXPECT_THAT(fits.plan().warnings, testing::IsEmpty()) << fits.request.master_addr;
  }
}

TEST(Identity, AListThatHasThisMachineElsewhereIsAnError) {
  Snapshot snapshot;
  snapshot.facts.addresses = {"10.0.0.1"};
  Request request = pytorch(0, "10.0.0.2:2,10.0.0.1:2").request;
  const Outcome outcome = resolve(snapshot, request).outcome;
  const auto* error = std::get_if<base::Error>(&outcome);
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(to_line(*error), testing::HasSubstr("has the address 10.0.0.1, which is node 1"));
}

TEST(NodeLink, IsOfEachJobOfSeveralNodes) {
  const Plan plan = pytorch(1).plan();
  ASSERT_TRUE(plan.link);
  EXPECT_EQ(plan.link->address, "a");
  EXPECT_EQ(plan.link->port, 3549) << "29500 modulo 599";
  EXPECT_EQ(plan.link->node_rank, 1);
  EXPECT_EQ(plan.link->node_count, 2);
  EXPECT_EQ(plan.link->master_port, 0) << "nobody waits for it";
  EXPECT_EQ(plan.link->timeout_ms, 30'000);
  EXPECT_TRUE(plan.link->stops && plan.link->loss_counts && plan.link->stop_counts);
  EXPECT_EQ(plan.policy.rendezvous_ms, 0);
}

TEST(NodeLink, IsOfNoJobOfOneNode) { EXPECT_FALSE(pytorch(0, "a:2").plan().link); }

TEST(NodeLink, IsWhereTheOptionsSay) {
  Job job = pytorch();
  job.request.master_addr = "m";
  job.request.master_port = 4711;
  job.request.link_timeout_ms = 5000;
  EXPECT_EQ(job.plan().link->address, "m");
  EXPECT_EQ(job.plan().link->port, 3918);
  EXPECT_EQ(job.plan().link->timeout_ms, 5000);
  job.request.link_port = 99;
  EXPECT_EQ(job.plan().link->port, 99);
}

TEST(NodeLink, TakesThePortOfNoTask) {
  const Plan plan =
      tensorflow(R"({"worker":["a:3100","b:3505"]})", R"({"type":"worker","index":1})").plan();
  ASSERT_TRUE(plan.link);
  EXPECT_EQ(plan.link->address, "a");
  EXPECT_EQ(plan.link->port, 3506);
  EXPECT_EQ(plan.link->node_rank, 1);
}

// Jobs on one host: what ports people choose and platforms make of a job's id.
TEST(NodeLink, HasAPortThatIsNoMastersOfANeighbour) {
  std::set<int> ports;
  for (int master = 29'500; master < 29'600; ++master) {
    Job job = pytorch();
    job.request.master_port = master;
    const int port = job.plan().link->port;
    EXPECT_TRUE(ports.insert(port).second) << master;
    EXPECT_TRUE(port >= 3400 && port < 3999) << port;
  }
  for (const int master : {1, 3400, 3405, 3998, 65'535}) {
    Job job = pytorch();
    job.request.master_port = master;
    const int port = job.plan().link->port;
    EXPECT_TRUE(port >= 3400 && port < 3999 && port != master) << master;
  }
}

TEST(NodeLink, StopsAllWhereTheProcessesDependOnOneAnother) {
  const auto workers = R"({"worker":["a:1","b:1"]})";
  EXPECT_TRUE(tensorflow(workers, R"({"type":"worker","index":0})").plan().link->stops);
  Job mpi("mpi", "a:2,b:2", 1, {"./train"});
  EXPECT_TRUE(mpi.plan().link->stops);
}

TEST(NodeLink, TellsWorkersThatLiveOnTheirOwn) {
  const auto servers = R"({"worker":["a:1","b:1"],"ps":["c:1"]})";
  Job job = tensorflow(servers, R"({"type":"worker","index":0})");
  EXPECT_FALSE(job.plan().link->stops);
  job.request.on_node_failure = OnNodeFailure::kStop;
  EXPECT_TRUE(job.plan().link->stops);
  Job single("single", "a,b", 1, {"./train"});
  ASSERT_TRUE(single.plan().link);
  EXPECT_FALSE(single.plan().link->stops);
}

TEST(NodeLink, TellsWhatTheOptionSays) {
  Job job = pytorch();
  job.request.on_node_failure = OnNodeFailure::kTell;
  const Plan plan = job.plan();
  EXPECT_FALSE(plan.link->stops || plan.link->loss_counts || plan.link->stop_counts);
}

// An agent answers the loss of a node by itself.
TEST(NodeLink, LeavesTheLossOfANodeToAnElasticLauncher) {
  Job job = pytorch();
  job.request.hosts.clear();
  job.request.node_rank.reset();
  job.request.platform = "kubeflow";
  job.variables.insert(job.variables.end(), {"PET_NNODES=1:2", "PET_NPROC_PER_NODE=8",
                                             "PET_NODE_RANK=1", "PET_RDZV_ENDPOINT=w-0:29400"});
  const Plan plan = job.plan();
  ASSERT_TRUE(plan.link);
  EXPECT_TRUE(plan.link->stops) << "its own end is a failure";
  EXPECT_FALSE(plan.link->loss_counts || plan.link->stop_counts);
}

TEST(NodeLink, KnowsAnElasticLauncherThatWasTyped) {
  const auto leaves_it = [](Words command, const char* variable = "") {
    Job job("pytorch", "a:2,b:2", 1, std::move(command));
    if (*variable != '\0') job.variables.emplace_back(variable);
    const Plan plan = job.plan();
    EXPECT_TRUE(plan.link->stops) << "its own end is a failure";
    EXPECT_EQ(plan.link->loss_counts, plan.link->stop_counts);
    return !plan.link->loss_counts;
  };
  EXPECT_TRUE(leaves_it({"torchrun", "--nnodes", "1:4", "train.py"}));
  EXPECT_TRUE(leaves_it({"torchrun", "--nnodes=1:4", "train.py"}));
  EXPECT_TRUE(leaves_it({"python", "-m", "torch.distributed.run", "--nnodes=1:4", "train.py"}));
  EXPECT_TRUE(leaves_it({"bash", "-c", "cd src && torchrun --nnodes 1:4 train.py"}));
  EXPECT_TRUE(leaves_it({"torchrun", "train.py"}, "PET_NNODES=1:2"));
  EXPECT_TRUE(leaves_it({"bash", "train.sh"}, "PET_NNODES=1:2"));
  EXPECT_FALSE(leaves_it({"torchrun", "--nnodes", "2", "train.py"}, "PET_NNODES=1:2"));
  EXPECT_FALSE(leaves_it({"torchrun", "--nnodes=2:2", "train.py"}));
  EXPECT_FALSE(leaves_it({"torchrun", "--standalone", "train.py"}, "PET_NNODES=1:2"));
  EXPECT_FALSE(leaves_it({"torchrun", "train.py"}));
  EXPECT_FALSE(leaves_it({"torchrun", "train.py", "--range=1:4"}));
}

TEST(NodeLink, LeavesTheLossOfANodeToTheListThatChanges) {
  Job job = pytorch();
  job.request.policy.elastic = true;
  EXPECT_FALSE(job.plan().link->loss_counts || job.plan().link->stop_counts);
  job.request.max_restarts = 2;
  EXPECT_TRUE(job.plan().link->loss_counts);
  EXPECT_FALSE(job.plan().link->stop_counts);
}

TEST(NodeLink, LeavesItToALauncherThatStartsAgain) {
  Job job("mpi", "a:2,b:2", 0, {"./train"});
  EXPECT_TRUE(job.plan().link->loss_counts);
  job.request.max_restarts = 2;
  job.request.restart_across_nodes = true;
  EXPECT_FALSE(job.plan().link->loss_counts);
}

std::string line(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST(NodeLink, TellsTheWorkersOfALauncherOnNode0) {
  const Plan worker = Job("mpi", "a:2,b:2", 1, {"./train"}).plan();
  EXPECT_EQ(line(worker.link->tell_sshd), "/trainit peer session --dir /run/trainit/ssh");
  const Plan launcher = Job("mpi", "a:2,b:2", 0, {"./train"}).plan();
  EXPECT_TRUE(launcher.link->tell_sshd.empty());
  ASSERT_EQ(launcher.post_stop.size(), 1U);
  EXPECT_THAT(line(launcher.post_stop[0].argv), testing::EndsWith(" --link /run/trainit/link"));
  EXPECT_TRUE(pytorch(1).plan().link->tell_sshd.empty());
}

TEST(NodeLink, TellsNoWorkersWhereAnotherNodeLaunches) {
  ResolvedCluster resolved;
  resolved.cluster.nodes.resize(2);
  resolved.cluster.nodes[1].role = "launcher";
  Plan plan;
  plan.link = NodeLink{};
  plan.post_stop.emplace_back().name = "end-peers";
  const Snapshot snapshot;
  const Request request;
  tell_workers_by_link(Inputs(snapshot, request), resolved.cluster, plan);
  EXPECT_TRUE(plan.post_stop[0].argv.empty());
}

TEST(NodeLink, KnowsThePortThatMustBeFreeBeforeAStart) {
  Job job = pytorch();
  job.request.max_restarts = 1;
  job.request.restart_across_nodes = true;
  EXPECT_EQ(job.plan().link->master_port, 29500);
  EXPECT_TRUE(job.plan().link->loss_counts);
}

}  // namespace
}  // namespace envgen
