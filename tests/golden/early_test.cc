// What init/early takes for a sign that something has to be resolved covers the job of each
// platform and framework.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"
#include "init/early/environment_prefixes.h"
#include "tests/golden/plans.h"
#include "tests/sim/platform_jobs.h"

namespace {

bool is_pass_through(const envgen::Snapshot& snapshot) {
  const auto options = cli::parse_options(snapshot.argv, snapshot.env);
  return options && envgen::is_pass_through(snapshot.env, options->request);
}

bool is_noticed(const envgen::Snapshot& snapshot) {
  const auto options = cli::parse_options(snapshot.argv, snapshot.env);
  if (!options) return false;
  const bool by_option =
      !snapshot.argv.empty() && snapshot.argv[0] != "--" && !snapshot.argv[0].starts_with('/');
  const bool by_program =
      !options->request.command.empty() && early::may_be_conda(options->request.command[0].c_str());
  return by_option || by_program ||
         std::ranges::any_of(snapshot.env.entries(), [](const std::string& one) {
           return early::has_known_prefix(one.c_str());
         });
}

TEST(EarlyPrefixes, CoverEveryPlatformsJobs) {
  int jobs = 0;
  for (const sim::Job& job : sim::simulated_jobs(2, 2)) {
    for (const int node : {0, job.nodes - 1}) {
      envgen::Snapshot snapshot = job.container(node).snapshot;
      // The platform's own variables have to be enough.
      auto framework = std::ranges::find(snapshot.argv, "--framework");
      if (framework != snapshot.argv.end()) snapshot.argv.erase(framework, framework + 2);
      if (is_pass_through(snapshot)) continue;
      ++jobs;
      EXPECT_TRUE(is_noticed(snapshot)) << job.name << ", node " << node;
    }
  }
  EXPECT_GT(jobs, 40);
}

TEST(EarlyPrefixes, CoverEverySnapshot) {
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden::directory())) {
    const std::string path = entry.path();
    if (!path.ends_with(".snapshot.json")) continue;
    const auto snapshot = envgen::snapshot_from_json(golden::read_file(path), path);
    ASSERT_TRUE(snapshot) << path;
    if (is_pass_through(*snapshot)) continue;
    ++jobs;
    EXPECT_TRUE(is_noticed(*snapshot)) << path;
  }
  EXPECT_GT(jobs, 3);
}

}  // namespace
