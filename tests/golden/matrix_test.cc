// A plan for each platform with each framework, for the first and the last node of a job of three:
// what the platform shows a container is tests/sim/platform_jobs, matrix/JOB.plans what trainit
// makes of it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "envgen/plan/snapshot.h"
#include "tests/golden/plans.h"
#include "tests/sim/platform_jobs.h"

namespace sim {

// Tests are reported with the job's name, not with its bytes.
static void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

}  // namespace sim

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

struct Case {
  bool last;
  std::vector<std::string> options;  // before the job's own
};

std::vector<Case> cases_of(const sim::Job& job) {
  std::vector<Case> cases = {{false, {}}, {true, {}}};
  if (job.name == "kubeflow-trainer") {
    cases.push_back({false, {"--fan-out"}});
    cases.push_back({true, {"--fan-out"}});
  }
  if (job.name == "modelarts-ascend") cases.push_back({false, {"--elastic", "--min-nodes", "2"}});
  if (job.name == "volcano-pytorch") {
    cases.push_back(
        {true, {"--max-restarts", "3", "--no-restart-on", "1-2,126", "--restart-across-nodes"}});
  }
  return cases;
}

// The paths that resolve() has looked at, in lines of a width that can be compared.
std::string looked_at(const envgen::Snapshot& snapshot) {
  std::string text = "looks at";
  std::size_t column = text.size();
  for (const auto& [path, state] : snapshot.paths) {
    const bool wraps = column + 1 + path.size() > 100;
    text += wraps ? "\n  " : " ";
    column = (wraps ? 2 : column + 1) + path.size();
    text += path;
  }
  return text + "\n";
}

class Matrix : public testing::TestWithParam<sim::Job> {};

TEST_P(Matrix, PlansAreWhatTheyWere) {
  const sim::Job& job = GetParam();
  std::string heading;
  std::vector<golden::Section> sections;
  for (const Case& one : cases_of(job)) {
    sim::Container container = job.container(one.last ? job.nodes - 1 : 0);
    std::vector<std::string>& argv = container.snapshot.argv;
    argv.insert(argv.begin(), one.options.begin(), one.options.end());
    sim::resolve(container);
    if (sections.empty()) heading = looked_at(container.snapshot);
    std::string title = one.last ? "last node" : "first node";
    for (const std::string& option : one.options) title += " " + option;
    const std::string path = testing::TempDir() + "trainit-" + std::to_string(::getpid()) + "-" +
                             job.name + std::to_string(sections.size()) + ".json";
    std::ofstream(path) << envgen::to_json(container.snapshot, true);
    sections.push_back({title, path, ""});
  }
  golden::expect_plans("matrix/" + job.name, heading, sections);
  for (const golden::Section& section : sections) std::filesystem::remove(section.snapshot);
}

INSTANTIATE_TEST_SUITE_P(Plans, Matrix, testing::ValuesIn(all_jobs()), [](const auto& job) {
  std::string name = job.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

// A job that was renamed leaves no file behind that nobody compares.
TEST(Matrix, HasNoOtherFiles) {
  std::set<std::string> known;
  for (const sim::Job& job : all_jobs()) known.insert(job.name + ".plans");
  for (const auto& entry : std::filesystem::directory_iterator(golden::directory() + "matrix")) {
    EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path();
  }
}

}  // namespace
