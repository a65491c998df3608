// Seeded faults in what a platform injects: the answer is Pending or an Error, or the very plan
// that the node would have had without the fault; never another one.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>

#include "envgen/plan/plan.h"
#include "envgen/resolve/resolve.h"
#include "tests/sim/platform_jobs.h"

namespace sim {
namespace {

constexpr unsigned kSeed = 4711;

struct Fault {
  const char* name;
  const char* job;
  std::function<void(Container&, int node, std::mt19937& random)> inject;
  bool must_be_noticed = true;  // else the very plan is also good
};

std::string value_of(const Container& container, const char* name) {
  return std::string(container.snapshot.env.get_or(name, ""));
}

// A list without its n-th element.
std::string without(const std::string& list, std::size_t place) {
  std::string result;
  std::size_t index = 0;
  for (std::size_t at = 0; at <= list.size(); ++index) {
    std::size_t end = std::min(list.find(',', at), list.size());
    if (index != place) result += (result.empty() ? "" : ",") + list.substr(at, end - at);
    at = end + 1;
  }
  return result;
}

std::string element(const std::string& list, std::size_t place) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < place; ++i) at = list.find(',', at) + 1;
  return list.substr(at, list.find(',', at) - at);
}

auto set(const char* name, const char* value) {
  return [=](Container& one, int, std::mt19937&) { set_variable(one, name, value); };
}
auto unset(const char* name) {
  return [=](Container& one, int, std::mt19937&) { unset_variable(one, name); };
}
// The list lacks this node, or names one twice.
auto missing_self(const char* name) {
  return [=](Container& one, int node, std::mt19937&) {
    set_variable(one, name, without(value_of(one, name), static_cast<std::size_t>(node)));
  };
}
auto named_twice(const char* name) {
  return [=](Container& one, int node, std::mt19937&) {
    std::string list = value_of(one, name);
    std::size_t other = node == 0 ? 1 : 0;
    set_variable(one, name, list + "," + element(list, other));
  };
}
auto cut_file(const char* path) {
  return [=](Container& one, int, std::mt19937& random) {
    std::string text = one.paths.at(path).content;
    one.paths[path] = file_of(text.substr(0, random() % text.size()));
  };
}
auto with_text(const char* path, const char* from, const char* to) {
  return [=](Container& one, int, std::mt19937&) {
    std::string text = one.paths.at(path).content;
    std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    one.paths[path] = file_of(text.replace(at, std::string(from).size(), to));
  };
}

const char* const kModelArtsTable = "/user/config/jobstart_hccl.json";
const char* const kVolcanoTable = "/user/serverid/devindex/config/hccl.json";

std::vector<Fault> faults_of_trainers() {
  return {
      {"torn table", "modelarts-ascend", cut_file(kModelArtsTable)},
      {"torn table", "volcano-ascend", cut_file(kVolcanoTable)},
      {"not completed", "modelarts-ascend",
       with_text(kModelArtsTable, "completed", "initializing")},
      {"stale table of other pods", "modelarts-ascend",
       [](Container& one, int node, std::mt19937&) {
         std::string pod = "job-worker-" + std::to_string(node) + "\"";
         std::string text = one.paths.at(kModelArtsTable).content;
         one.paths[kModelArtsTable] =
             file_of(text.replace(text.find(pod), pod.size(), "old-" + pod));
       }},
      {"two pods of one name", "modelarts-ascend",
       with_text(kModelArtsTable, "job-worker-2\"", "job-worker-1\"")},
      {"duplicate rank", "volcano-ascend",
       with_text(kVolcanoTable, R"("rank_id":"9")", R"("rank_id":"8")")},
      {"host unknown to the table", "volcano-ascend", set("HOST_IP", "10.99.99.99")},
      {"index beyond the list", "vk-horovod", set("VK_TASK_INDEX", "64")},
      {"index is no number", "vk-horovod", set("VK_TASK_INDEX", "one")},
      {"negative index", "vk-pytorch", set("VK_TASK_INDEX", "-1")},
      {"no index", "vk-pytorch", unset("VK_TASK_INDEX")},
      {"slots are no number", "vk-horovod", set("SLOTS", "four")},
      {"no slots", "vk-horovod", set("SLOTS", "0")},
      {"host twice", "vk-horovod", named_twice("WORKER_HOST")},
      {"list without this node", "vk-horovod", missing_self("WORKER_HOST")},
      {"list without this node", "vk-tensorflow", missing_self("WORKER_HOST")},
      {"empty element", "vk-horovod",
       [](Container& one, int, std::mt19937&) {
         set_variable(one, "WORKER_HOST", value_of(one, "WORKER_HOST") + ",");
       },
       false},
      {"list without this node", "volcano-mpi", missing_self("VC_WORKER_HOSTS")},
      {"count and list differ", "volcano-pytorch", set("VC_WORKER_NUM", "7")},
      {"index beyond the list", "modelarts-pytorch", set("VC_TASK_INDEX", "999")},
      {"count and list differ", "modelarts-pytorch", missing_self("VC_WORKER_HOSTS")},
      {"task unknown", "modelarts-tensorflow", set("MA_TASK_NAME", "scheduler")},
      {"list without this node", "modelarts-tensorflow", missing_self("TF_WORKER_HOSTS")},
      {"rank beyond the world", "dlc-pytorch", set("RANK", "64")},
      {"world is no number", "dlc-pytorch", set("WORLD_SIZE", "two")},
      {"python instead of JSON", "kubeflow-tensorflow", set("TF_CONFIG", "{'cluster': {}}")},
      {"index beyond the cluster", "kubeflow-tensorflow",
       set("TF_CONFIG",
           R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":2}})")},
  };
}

std::vector<Fault> faults_of_lists() {
  return {
      {"rank beyond the world", "kubeflow-pytorch", set("PET_NODE_RANK", "64")},
      {"world and nodes differ", "kubeflow-pytorch", set("WORLD_SIZE", "513")},
      {"no nodes", "kubeflow-trainer", unset("PET_NNODES")},
      {"range turned round", "kubeflow-trainer", set("PET_NNODES", "4:2")},
      {"broken node list", "slurm-pytorch", set("SLURM_JOB_NODELIST", "n[1-64")},
      {"count and list differ", "slurm-mpi", set("SLURM_JOB_NODELIST", "n[00001-00063]")},
      {"node beyond the list", "slurm-pytorch", set("SLURM_NODEID", "64")},
      {"index beyond the nodes", "indexed-pytorch", set("JOB_COMPLETION_INDEX", "64")},
      {"host unknown to the list", "bare-mpi",
       [](Container& one, int, std::mt19937&) { one.snapshot.facts.host_name = "elsewhere"; }},
      {"host unknown to the list", "sagemaker-toolkit", set("SM_CURRENT_HOST", "algo-99")},
      {"python instead of JSON", "sagemaker-toolkit", set("SM_HOSTS", "['algo-1','algo-2']")},
      {"torn list", "determined-pytorch", cut_file("/run/determined/info/rendezvous.json")},
      {"torn list", "sagemaker-pytorch", cut_file("/opt/ml/input/config/resourceconfig.json")},
      {"rank beyond the nodes", "azureml-pytorch", set("NODE_RANK", "64")},
      {"world is no multiple", "azureml-tasks-pytorch", set("WORLD_SIZE", "511")},
      {"node and rank differ", "azureml-tasks-pytorch", set("NODE_RANK", "63")},
      {"torn list", "vertex-pytorch", set("CLUSTER_SPEC", R"({"cluster":{"workerpool0":["a:)")},
      {"count and list differ", "skypilot-pytorch", set("SKYPILOT_NUM_NODES", "63")},
      {"rank beyond the list", "skypilot-pytorch", set("SKYPILOT_NODE_RANK", "64")},
      {"index beyond the workers", "mlp-pytorch", set("MLP_ROLE_INDEX", "64")},
      {"index beyond the group", "lws-pytorch", set("LWS_WORKER_INDEX", "64")},
      {"role unknown", "openpai-pytorch", set("PAI_CURRENT_TASK_ROLE_NAME", "master")},
      {"no host of a task", "openpai-pytorch", unset("PAI_HOST_IP_worker_5")},
      {"host unknown to the list", "lsf-pytorch",
       [](Container& one, int, std::mt19937&) { one.snapshot.facts.host_name = "elsewhere"; }},
      {"slots are no number", "lsf-mpi", set("LSB_MCPU_HOSTS", "n0 eight n1 8")},
      {"host unknown to the list", "pbs-mpi",
       [](Container& one, int, std::mt19937&) { one.snapshot.facts.host_name = "elsewhere"; }},
      {"python instead of JSON", "tfconfig-tensorflow", set("TF_CONFIG", "{'cluster': {}}")},
      {"rank beyond the world", "env-pytorch", set("RANK", "64")},
      {"no rank", "env-pytorch", unset("RANK")},
      {"no master", "env-pytorch", unset("MASTER_ADDR")},
      {"world is no number", "env-pytorch", set("WORLD_SIZE", "many")},
      {"rank beyond the world", "env-tasks-pytorch", set("RANK", "512")},
      {"local ranks and ranks differ", "env-tasks-pytorch", set("LOCAL_WORLD_SIZE", "7")},
      {"torn table", "bare-ascend", cut_file("/etc/ranks/hccl.json")},
  };
}

std::vector<Fault> faults() {
  std::vector<Fault> all = faults_of_trainers();
  std::ranges::move(faults_of_lists(), std::back_inserter(all));
  return all;
}

TEST(ClusterFaults, NeverGiveAWrongPlan) {
  constexpr int kNodes = 64;
  constexpr int kNodesTried = 6;
  const std::vector<Job> jobs = simulated_jobs(kNodes, 8);
  std::mt19937 random(kSeed);
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(std::string(fault.job) + ": " + fault.name);
    const Job& job = job_named(jobs, fault.job);
    for (int i = 0; i < kNodesTried; ++i) {
      // Not the last: there a list that lacks one looks complete to its own index.
      int node = i == 0 ? 0 : static_cast<int>(random() % (kNodes - 1));
      Container healthy = job.container(node);
      Container faulty = healthy;
      fault.inject(faulty, node, random);
      envgen::Outcome expected = resolve(healthy);
      envgen::Outcome outcome = resolve(faulty);
      const auto* planned = std::get_if<envgen::Planned>(&outcome);
      if (planned == nullptr) {
        if (const auto* error = std::get_if<base::Error>(&outcome)) {
          EXPECT_FALSE(error->what.empty() || error->found.empty() || error->fix.empty())
              << to_line(*error);
        }
        continue;
      }
      EXPECT_FALSE(fault.must_be_noticed) << "node " << node << ": planned all the same";
      const auto* without_fault = std::get_if<envgen::Planned>(&expected);
      ASSERT_NE(without_fault, nullptr);
      EXPECT_TRUE(planned->plan.processes == without_fault->plan.processes) << "node " << node;
    }
  }
}

}  // namespace
}  // namespace sim
