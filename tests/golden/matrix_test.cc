// A plan for each platform with each framework, for the first and the last node of a job of three:
// matrix/JOB.NODE.snapshot.json is what that container sees, .plan.json what trainit makes of it.
// TRAINIT_UPDATE_GOLDEN=1 rewrites both: read the difference before it is committed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "tests/golden/trainit.h"
#include "tests/sim/platform_jobs.h"

namespace {

constexpr int kNodes = 3;
constexpr int kSlots = 2;
constexpr int kAscendSlots = 8;  // what MindSpore's document allows on several servers

std::vector<sim::Job> all_jobs() {
  std::vector<sim::Job> jobs = sim::simulated_jobs(kNodes, kSlots);
  for (const sim::Job& job : sim::simulated_jobs(kNodes, kAscendSlots)) {
    auto same = std::ranges::find(jobs, job.name, &sim::Job::name);
    if (job.framework == "ascend" && same != jobs.end()) *same = job;
  }
  return jobs;
}

std::string directory() { return std::string(TRAINIT_SOURCE_DIR) + "/tests/golden/matrix/"; }

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Case {
  std::string job;
  int node;
  std::string options;  // before the job's own
};

std::string name_of(const Case& one) {
  return one.job + (one.options.empty() ? "" : ".fan-out") + (one.node == 0 ? ".first" : ".last");
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const sim::Job& job : all_jobs()) {
    for (int node : {0, job.nodes - 1}) {
      list.push_back({job.name, node, ""});
      if (job.name == "kubeflow-trainer") list.push_back({job.name, node, "--fan-out"});
    }
  }
  return list;
}

// The snapshot of that node, with all that resolve() looks at.
std::string snapshot_of(const Case& one) {
  const std::vector<sim::Job> jobs = all_jobs();
  sim::Container container = sim::job_named(jobs, one.job).container(one.node);
  if (!one.options.empty()) {
    container.snapshot.argv.insert(container.snapshot.argv.begin(), one.options);
  }
  sim::resolve(container);
  return envgen::to_json(container.snapshot, true);
}

class Matrix : public testing::TestWithParam<Case> {};

TEST_P(Matrix, PlanIsWhatItWas) {
  const std::string base = directory() + name_of(GetParam());
  const bool update = std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr;
  if (update) std::ofstream(base + ".snapshot.json") << snapshot_of(GetParam());
  EXPECT_EQ(read_file(base + ".snapshot.json"), snapshot_of(GetParam()));
  const std::string plan = golden::trainit("plan --json --snapshot " + base + ".snapshot.json");
  if (update) std::ofstream(base + ".plan.json") << plan;
  ASSERT_FALSE(plan.empty());
  EXPECT_EQ(plan, read_file(base + ".plan.json"));
}

INSTANTIATE_TEST_SUITE_P(Plans, Matrix, testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = name_of(one.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

// A case that was renamed leaves no file behind that nobody compares.
TEST(Matrix, HasNoOtherFiles) {
  std::set<std::string> known;
  for (const Case& one : cases()) {
    known.insert(name_of(one) + ".snapshot.json");
    known.insert(name_of(one) + ".plan.json");
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path();
  }
}

}  // namespace
