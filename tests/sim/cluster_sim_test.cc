// Whole jobs: what all nodes of a simulated job plan must fit together. Every platform with all of
// its nodes at 64 nodes, and with the first, the last and six seeded ones at 10,000.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>

#include "envgen/formats/hostfile.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/plan/plan.h"
#include "envgen/platform/platform.h"
#include "envgen/resolve/resolve.h"
#include "tests/sim/platform_jobs.h"

namespace sim {
namespace {

using envgen::Plan;

// A TF_CONFIG with more of the simulated names is longer than a variable may be.
constexpr int kMaxTasks = 4000;

#ifdef __SANITIZE_ADDRESS__
constexpr int kManyNodes = 500;  // ten times as slow: the release tree has the large ones
#else
constexpr int kManyNodes = 10'000;
#endif

constexpr unsigned kSeed = 20261120;

// The value a process of the plan sees; "" when it is unset.
std::string variable_of(const Plan& plan, const envgen::Process& process,
                        const Container& container, const std::string& name) {
  base::Environ env = container.snapshot.env;
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  for (const base::EnvEdit& edit : process.env) env.apply(edit);
  return std::string(env.get_or(name, ""));
}

// The value of an option, as "--name=value" or "--name value"; "" without it.
std::string option_of(const std::vector<std::string>& argv, const std::string& name) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == name && i + 1 < argv.size()) return argv[i + 1];
    if (argv[i].starts_with(name + "=")) return argv[i].substr(name.size() + 1);
  }
  return "";
}

bool serves(const envgen::Process& process) {
  return process.argv.size() > 2 && process.argv[1] == "peer" && process.argv[2] == "serve";
}

// What the nodes of one job have said so far, and what must not differ between them.
class Fit {
 public:
  // `launcher`: of PyTorch's ranks; "" = the one that the platform or trainit chooses.
  explicit Fit(const Job& job, std::string launcher = "")
      : job_(job), launcher_(std::move(launcher)) {}

  void add(int node, Container container) {
    if (!launcher_.empty()) set_variable(container, "TRAINIT_TORCH_LAUNCHER", launcher_);
    envgen::Outcome outcome = resolve(container);
    if (const auto* error = std::get_if<base::Error>(&outcome)) {
      // What the kernel could not pass on must be said, not tried.
      if (job_.framework == "tensorflow" && job_.nodes > kMaxTasks && error->where == "TF_CONFIG") {
        return;
      }
      ADD_FAILURE() << job_.name << " node " << node << ": " << to_line(*error);
      return;
    }
    const auto* planned = std::get_if<envgen::Planned>(&outcome);
    ASSERT_NE(planned, nullptr) << job_.name << " node " << node << ": pending";
    SCOPED_TRACE(job_.name + " node " + std::to_string(node));
    check(planned->plan, container);
  }

  // After all nodes of the job.
  void complete() const {
    SCOPED_TRACE(job_.name);
    if (job_.workers_know_cluster) {
      EXPECT_EQ(static_cast<int>(node_ranks_.size()), job_.nodes) << "node ranks are a bijection";
      EXPECT_EQ(*node_ranks_.begin(), 0);
      EXPECT_EQ(*node_ranks_.rbegin(), job_.nodes - 1);
    }
    const int world = job_.rank_nodes * job_.slots;
    if (!ranks_.empty()) {
      EXPECT_EQ(static_cast<int>(ranks_.size()), world) << "ranks are a bijection";
      EXPECT_EQ(*ranks_.begin(), 0);
      EXPECT_EQ(*ranks_.rbegin(), world - 1);
    }
    if (by_ssh() && !job_.task_per_rank) {
      EXPECT_EQ(launchers_, 1);
    }
    if (job_.framework == "tensorflow") {
      EXPECT_EQ(static_cast<int>(tasks_.size()), job_.nodes) << "each task once";
    }
  }

 private:
  [[nodiscard]] bool by_ssh() const {
    return job_.framework == "mpi" || job_.framework == "horovod" || job_.framework == "deepspeed";
  }

  void check(const Plan& plan, const Container& container) {
    EXPECT_EQ(plan.platform, job_.platform) << plan.platform_reason;
    EXPECT_EQ(plan.framework, job_.framework);
    EXPECT_FALSE(plan.platform_reason.empty());
    if (!job_.workers_know_cluster && launchers_ > 0) {
      ASSERT_EQ(plan.processes.size(), 1U);
      EXPECT_TRUE(serves(plan.processes[0]));
      return;
    }
    if (job_.task_per_rank) {
      check_task(plan, container);
      return;
    }
    check_cluster(plan);
    check_framework(plan, container);
  }

  // Nothing is fanned out: one process, which is the rank that the platform says.
  void check_task(const Plan& plan, const Container& container) {
    ASSERT_EQ(plan.processes.size(), 1U);
    EXPECT_TRUE(plan.services.empty());
    EXPECT_EQ(plan.world_size, job_.nodes);
    node_ranks_.insert(static_cast<int>(node_ranks_.size()));
    if (job_.framework == "pytorch") {
      EXPECT_TRUE(ranks_.insert(plan.processes[0].rank).second) << "a rank twice";
      auto value = [&](const char* name) {
        return variable_of(plan, plan.processes[0], container, name);
      };
      EXPECT_EQ(value("RANK"), std::to_string(plan.processes[0].rank));
      EXPECT_EQ(value("LOCAL_RANK"), std::to_string(plan.processes[0].rank % job_.slots));
      EXPECT_EQ(value("WORLD_SIZE"), std::to_string(job_.nodes));
      same("MASTER_ADDR", value("MASTER_ADDR"));
      same("MASTER_PORT", value("MASTER_PORT"));
    }
  }

  void check_cluster(const Plan& plan) {
    EXPECT_EQ(plan.node_count, job_.nodes);
    ASSERT_TRUE(plan.cluster);
    ASSERT_TRUE(plan.local_node);
    EXPECT_TRUE(node_ranks_.insert(plan.local_node->node_rank).second)
        << "node rank " << plan.local_node->node_rank << " twice";
    int slots = 0;
    for (const envgen::Node& node : plan.cluster->nodes) slots += node.slots;
    EXPECT_EQ(slots, plan.cluster->world_size);
    // A TensorFlow task is one rank, whatever devices it drives.
    const int ranks_of_node = job_.framework == "tensorflow" ? 1 : job_.slots;
    EXPECT_EQ(plan.world_size, job_.rank_nodes * ranks_of_node);
    EXPECT_EQ(plan.cluster->world_size, plan.world_size);
    if (!cluster_) cluster_ = *plan.cluster;
    EXPECT_TRUE(*cluster_ == *plan.cluster) << "the cluster differs from the first node's";
  }

  void check_framework(const Plan& plan, const Container& container) {
    EXPECT_FALSE(plan.processes.empty());
    for (const envgen::Process& process : plan.processes) {
      if (process.rank >= 0) {
        EXPECT_TRUE(ranks_.insert(process.rank).second) << "rank " << process.rank << " twice";
      }
    }
    if (job_.framework == "pytorch" && !job_.typed) {
      const bool agent = plan.processes[0].rank < 0;
      const bool on_vk = launcher_.empty() && job_.platform == "vk";  // whose page prescribes one
      EXPECT_EQ(agent, on_vk || launcher_ == "torchrun");
      agent ? check_agent(plan) : check_ranks(plan, container);
    }
    if (job_.framework == "tensorflow") check_tf_config(plan, container);
    if (by_ssh()) check_launcher(plan);
  }

  void check_agent(const Plan& plan) {
    ASSERT_EQ(plan.processes.size(), 1U);
    const std::vector<std::string>& argv = plan.processes[0].argv;
    auto either = [&argv](const char* one, const char* other) {
      std::string value = option_of(argv, one);
      return value.empty() ? option_of(argv, other) : value;
    };
    EXPECT_EQ(either("--nnodes", "--nnodes"), std::to_string(job_.nodes));
    EXPECT_EQ(either("--nproc_per_node", "--nproc-per-node"), std::to_string(job_.slots));
    EXPECT_EQ(either("--node_rank", "--node-rank"), std::to_string(plan.local_node->node_rank));
    std::string master = either("--master_addr", "--master-addr");
    std::string port = either("--master_port", "--master-port");
    EXPECT_FALSE(master.empty());
    if (plan.local_node->node_rank != 0 || master != "localhost") same("master", master);
    same("port", port);
  }

  void check_ranks(const Plan& plan, const Container& container) {
    ASSERT_EQ(static_cast<int>(plan.processes.size()), job_.slots);
    for (int i = 0; i < job_.slots; ++i) {
      const envgen::Process& process = plan.processes[static_cast<std::size_t>(i)];
      auto value = [&](const char* name) { return variable_of(plan, process, container, name); };
      EXPECT_EQ(value("RANK"), std::to_string(process.rank));
      EXPECT_EQ(value("LOCAL_RANK"), std::to_string(i));
      EXPECT_EQ(value("WORLD_SIZE"), std::to_string(job_.rank_nodes * job_.slots));
      EXPECT_EQ(value("LOCAL_WORLD_SIZE"), std::to_string(job_.slots));
      same("MASTER_PORT", value("MASTER_PORT"));
      if (plan.local_node->node_rank != 0) same("MASTER_ADDR", value("MASTER_ADDR"));
    }
  }

  void check_tf_config(const Plan& plan, const Container& container) {
    ASSERT_EQ(plan.processes.size(), 1U);
    std::string text = variable_of(plan, plan.processes[0], container, "TF_CONFIG");
    auto config = envgen::parse_tf_config(text, "TF_CONFIG");
    ASSERT_TRUE(config) << to_line(config.error());
    auto again = envgen::parse_tf_config(envgen::render_tf_config(*config), "again");
    ASSERT_TRUE(again);
    EXPECT_TRUE(*again == *config) << "parse(render(x)) == x";
    EXPECT_TRUE(tasks_.insert({config->type, config->index}).second) << "a task twice";
    std::size_t size = 0;
    for (const auto& [role, hosts] : config->cluster) size += hosts.size();
    EXPECT_EQ(static_cast<int>(size), job_.nodes);
    envgen::TfConfig common = *config;
    common.type.clear();
    common.index = 0;
    same("TF_CONFIG's cluster", envgen::render_tf_config(common));
  }

  // A hostfile in which the launching node has the name by which the others know it.
  static std::string as_told(const Plan& plan, const std::string& content) {
    const std::string& told =
        plan.cluster->nodes[static_cast<std::size_t>(plan.local_node->node_rank)].host;
    const std::string own = told.substr(0, told.find('.'));
    std::string text = "\n" + content;
    const std::size_t at = text.find("\n" + own + " ");
    if (at != std::string::npos) text.replace(at + 1, own.size(), told);
    return text.substr(1);
  }

  void check_launcher(const Plan& plan) {
    ASSERT_EQ(plan.processes.size(), 1U);
    bool launches = !serves(plan.processes[0]);
    launchers_ += launches ? 1 : 0;
    for (const envgen::PlannedFile& file : plan.files) {
      if (file.path.find("hostfile") == std::string::npos) continue;
      const std::string content = file.content.text();
      same(file.path, launches ? as_told(plan, content) : content);
      auto dialect = envgen::guess_dialect(content);
      envgen::Hostfile parsed = envgen::parse_hostfile(content, dialect);
      EXPECT_TRUE(parsed.findings.empty()) << to_line(parsed.findings[0]);
      int slots = 0;
      for (const envgen::HostfileEntry& entry : parsed.entries) slots += entry.slots;
      EXPECT_EQ(slots, job_.rank_nodes * job_.slots);
      EXPECT_EQ(static_cast<int>(parsed.entries.size()), job_.rank_nodes);
      auto text = envgen::render_hostfile(parsed.entries, dialect);
      ASSERT_TRUE(text);
      EXPECT_EQ(*text, content) << "render(parse(x)) == x";
    }
    if (!launches) return;
    ASSERT_TRUE(plan.peers);
    EXPECT_EQ(static_cast<int>(plan.peers->hosts.size()), job_.nodes - 1);
    EXPECT_EQ(plan.post_stop.size(), 1U);
  }

  // Equal on all nodes that have it.
  void same(const std::string& what, const std::string& value) {
    auto [place, first] = common_.emplace(what, value);
    EXPECT_TRUE(first || place->second == value)
        << what << " differs: " << place->second.substr(0, 200) << " and " << value.substr(0, 200);
  }

  const Job& job_;
  std::string launcher_;
  std::optional<envgen::Cluster> cluster_;
  std::set<int> node_ranks_;
  std::set<int> ranks_;
  std::set<std::pair<std::string, int>> tasks_;
  std::map<std::string, std::string> common_;
  int launchers_ = 0;
};

TEST(ClusterSim, AllNodesOfASmallClusterFitTogether) {
  constexpr int kNodes = 64;
  for (const Job& job : simulated_jobs(kNodes, 8)) {
    for (const char* launcher : {"", "torchrun", "fan-out"}) {
      const bool chosen = job.framework == "pytorch" && !job.typed && !job.task_per_rank;
      if (*launcher != '\0' && !chosen) continue;
      Fit fit(job, launcher);
      for (int node = 0; node < job.nodes; ++node) fit.add(node, job.container(node));
      fit.complete();
    }
  }
}

// Each rank once, one master, one world size, all nodes equal in what is common: of every platform.
class EveryPlatform : public testing::TestWithParam<Job> {};

TEST_P(EveryPlatform, IsOneJobOnTwelveNodesOfEightRanks) {
  const Job& job = GetParam();
  Fit fit(job);
  for (int node = 0; node < job.nodes; ++node) fit.add(node, job.container(node));
  fit.complete();
}

INSTANTIATE_TEST_SUITE_P(ClusterSim, EveryPlatform, testing::ValuesIn(simulated_jobs(12, 8)),
                         [](const testing::TestParamInfo<Job>& one) {
                           std::string name = one.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ClusterSim, TwelveNodesAreOfEveryPlatform) {
  std::set<std::string_view> known;
  for (const envgen::Platform* platform : envgen::platforms()) known.insert(platform->name);
  known.erase("local");
  const std::vector<Job> jobs = simulated_jobs(12, 8);
  for (const Job& job : jobs) known.erase(job.platform);
  EXPECT_TRUE(known.empty()) << *known.begin() << " has no job of twelve nodes";
}

TEST(ClusterSim, TwoNodesAndOneRankEachFitTogether) {
  for (const Job& job : simulated_jobs(2, 1)) {
    Fit fit(job);
    for (int node = 0; node < job.nodes; ++node) fit.add(node, job.container(node));
    fit.complete();
  }
}

// Bytes of the heap in use.
std::size_t heap_bytes() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

struct Cost {
  double seconds = 0;
  double bytes = 0;
};

// What one node pays to resolve its place in the job.
Cost cost_of(const Job& job, int node) {
  Container container = job.container(node);
  const std::size_t before = heap_bytes();
  const auto start = std::chrono::steady_clock::now();
  envgen::Outcome outcome = resolve(container);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {took.count(), static_cast<double>(heap_bytes()) - static_cast<double>(before)};
}

std::vector<int> some_nodes(int nodes) {
  constexpr int kSeeded = 6;
  std::mt19937 random(kSeed);
  std::set<int> chosen = {0, nodes - 1};
  while (static_cast<int>(chosen.size()) < kSeeded + 2) {
    chosen.insert(static_cast<int>(random() % static_cast<unsigned>(nodes)));
  }
  return {chosen.begin(), chosen.end()};
}

TEST(ClusterSim, SomeNodesOfALargeClusterFitTogether) {
  constexpr int kDevices = 8;
  std::set<std::string> platforms;
  for (const Job& job : simulated_jobs(kManyNodes, kDevices)) {
    platforms.insert(job.platform);
    Fit fit(job);
    for (int node : some_nodes(job.nodes)) fit.add(node, job.container(node));
  }
  EXPECT_EQ(platforms, (std::set<std::string>{
                           "modelarts", "dlc",    "vk",        "volcano", "kubeflow",  "slurm",
                           "indexed",   "bare",   "sagemaker", "azureml", "skypilot",  "mlp",
                           "lws",       "dstack", "beaker",    "baseten", "metaflow",  "openpai",
                           "lsf",       "pbs",    "tfconfig",  "env",     "determined"}))
      << "each platform has a job of this size";
}

// Printed, not judged: machines are shared.
TEST(ClusterSim, PrintsWhatANodePays) {
  std::printf("%-26s %9d nodes %7d nodes %14s\n", "job", kManyNodes / 10, kManyNodes, "kept");
  std::vector<Job> small = simulated_jobs(kManyNodes / 10, 8);
  for (const Job& job : simulated_jobs(kManyNodes, 8)) {
    Cost few = cost_of(job_named(small, job.name), 17);
    Cost many = cost_of(job, 17);
    std::printf("%-26s %9.2f ms %9.2f ms %11.0f kB\n", job.name.c_str(), few.seconds * 1e3,
                many.seconds * 1e3, many.bytes / 1024);
  }
}

}  // namespace
}  // namespace sim
