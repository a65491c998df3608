// A launcher has started trainit for each of its processes: no job of any platform starts its ranks
// several times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/sim/job_parts.h"
#include "tests/sim/platform_jobs.h"

namespace sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Variables that a launcher gives process `local` of `each` on a node.
struct Launcher {
  std::string name;
  std::function<Words(int rank, int size, int local, int each)> variables;
};

std::vector<Launcher> launchers() {
  const auto all = [](const std::string& rank, const std::string& size, const std::string& local,
                      const std::string& each) {
    return [=](int a, int b, int c, int d) {
      Words words;
      const auto add = [&words](const std::string& name, int value) {
        if (!name.empty()) words.push_back(name + "=" + number(value));
      };
      add(rank, a);
      add(size, b);
      add(local, c);
      add(each, d);
      return words;
    };
  };
  return {
      {"Open MPI", all("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                       "OMPI_COMM_WORLD_LOCAL_SIZE")},
      {"Hydra", all("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")},
      {"PMI alone", all("PMI_RANK", "PMI_SIZE", "", "")},
      {"MVAPICH", all("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
                      "MV2_COMM_WORLD_LOCAL_SIZE")},
      {"jsrun", all("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
                    "JSM_NAMESPACE_LOCAL_SIZE")},
      {"PALS", all("PMI_RANK", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE")},
      {"horovodrun",
       all("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE")},
      {"one that nobody knows", all("QX_PROC_RANK", "QX_PROC_SIZE", "QX_PROC_LOCAL_RANK", "")},
  };
}

envgen::Outcome with(const Job& job, const Words& variables, int node) {
  Container container = job.container(node);
  for (const std::string& one : variables) {
    const std::size_t equal = one.find('=');
    set_variable(container, one.substr(0, equal), one.substr(equal + 1));
  }
  return resolve(container);
}

// The ranks of this job are started by trainit, not by the platform.
bool starts_ranks(const Job& job, int node) {
  const envgen::Outcome outcome = with(job, {}, node);
  const auto* planned = std::get_if<envgen::Planned>(&outcome);
  return planned != nullptr && planned->plan.framework != "single" && !job.task_per_rank;
}

class Launched : public testing::TestWithParam<Launcher> {};

TEST_P(Launched, ForEachProcessOfANodeIsAnErrorInEveryJob) {
  for (const Job& job : simulated_jobs(2, 8)) {
    if (!starts_ranks(job, 1) || job.platform == "azureml") continue;
    SCOPED_TRACE(job.name);
    for (const int local : {1, 3}) {
      const envgen::Outcome outcome = with(job, GetParam().variables(8 + local, 16, local, 8), 1);
      const auto* error = std::get_if<base::Error>(&outcome);
      ASSERT_NE(error, nullptr);
      EXPECT_THAT(to_line(*error), AllOf(HasSubstr("a launcher has started trainit"),
                                         HasSubstr("start trainit once on each node")));
    }
  }
}

TEST_P(Launched, FirstOfAllIsAnErrorToo) {
  for (const Job& job : simulated_jobs(2, 8)) {
    if (!starts_ranks(job, 0) || job.platform == "azureml") continue;
    const envgen::Outcome outcome = with(job, GetParam().variables(0, 16, 0, 8), 0);
    EXPECT_NE(std::get_if<base::Error>(&outcome), nullptr) << job.name;
  }
}

// Alone on its host or beside another node of the job.
TEST_P(Launched, OnceForEachNodeChangesNothing) {
  for (const Job& job : simulated_jobs(2, 8)) {
    if (!starts_ranks(job, 1) || job.platform == "azureml") continue;
    const envgen::Outcome plain = with(job, {}, 1);
    const envgen::Plan& plan = std::get<envgen::Planned>(plain).plan;
    const int rank = plan.local_node ? plan.local_node->node_rank : 1;
    if (plan.node_count != 2) continue;
    for (const int each : {1, 2}) {
      const envgen::Outcome outcome =
          with(job, GetParam().variables(rank, 2, rank % each, each), 1);
      const auto* planned = std::get_if<envgen::Planned>(&outcome);
      ASSERT_NE(planned, nullptr) << job.name << to_line(std::get<base::Error>(outcome));
      EXPECT_EQ(planned->plan.world_size, plan.world_size);
    }
  }
}

// Names that end like a launcher's and count something else; a batch script's own variables.
TEST(NotLaunched, AreJobsWithVariablesThatCountOtherThings) {
  const Words variables = {"LORA_RANK=16",    "LORA_SIZE=64", "DEVICE_LOCAL_ID=3", "LOCAL_ID=3",
                           "TP_SIZE=8",       "TP_RANK=1",    "SLURM_NTASKS=16",   "SLURM_PROCID=0",
                           "SLURM_LOCALID=0", "PMIX_RANK=0",  "NODE_RANK_SIZE=2"};
  for (const Job& job : simulated_jobs(2, 8)) {
    if (!starts_ranks(job, 1) || job.platform == "azureml" || job.platform == "slurm") continue;
    const envgen::Outcome outcome = with(job, variables, 1);
    EXPECT_NE(std::get_if<envgen::Planned>(&outcome), nullptr) << job.name;
  }
}

INSTANTIATE_TEST_SUITE_P(By, Launched, testing::ValuesIn(launchers()), [](const auto& one) {
  std::string name = one.param.name;
  std::erase(name, ' ');
  return name;
});

}  // namespace
}  // namespace sim
