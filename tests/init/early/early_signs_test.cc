// What init/early takes for a sign that something has to be resolved covers all that envgen reads.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "base/json.h"
#include "envgen/plan/snapshot.h"
#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"
#include "init/early/signs.h"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// They decide how something is done, never whether there is something to resolve; the last two are
// asked for with --bind alone, whose variable is a sign.
constexpr std::array kNoSigns = {"HOME",
                                 "PATH",
                                 "HOSTNAME",
                                 "KUBERNETES_SERVICE_HOST",
                                 "PDSH_SSH_ARGS_APPEND",
                                 "ATB_HOME_PATH",
                                 "LD_LIBRARY_PATH",
                                 "CUDA_VISIBLE_DEVICES",
                                 "NCCL_TOPO_FILE"};

TEST(EarlySigns, CoverEveryVariableThatEnvgenAsksFor) {
  const std::regex asked(R"((?:variable|get|get_or|has)\(\s*\"([A-Z][A-Z0-9_]*)\")");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(TRAINIT_SOURCE_DIR "/envgen")) {
    if (!entry.is_regular_file()) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), asked), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  ASSERT_GT(names.size(), 40U);
  for (const std::string& name : names) {
    if (std::ranges::find(kNoSigns, name) != kNoSigns.end()) continue;
    EXPECT_TRUE(early::is_sign((name + "=1").c_str())) << name;
  }
}

// Every platform's and framework's job of the golden plans.
TEST(EarlySigns, CoverEveryJobThatIsNoPassThrough) {
  int jobs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(TRAINIT_SOURCE_DIR "/tests/golden")) {
    if (!entry.path().filename().string().ends_with(".snapshot.json")) continue;
    auto snapshot = envgen::snapshot_from_json(text_of(entry.path()), entry.path().string());
    ASSERT_TRUE(snapshot) << entry.path();
    auto options = cli::parse_options(snapshot->argv, snapshot->env);
    ASSERT_TRUE(options) << entry.path();
    if (envgen::is_pass_through(snapshot->env, options->request)) continue;
    ++jobs;
    const bool by_option =
        !snapshot->argv.empty() && snapshot->argv[0] != "--" && !snapshot->argv[0].starts_with('/');
    const bool by_program = !options->request.command.empty() &&
                            early::is_program_sign(options->request.command[0].c_str());
    const bool by_variable =
        std::ranges::any_of(snapshot->env.entries(),
                            [](const std::string& one) { return early::is_sign(one.c_str()); });
    EXPECT_TRUE(by_option || by_program || by_variable) << entry.path();
  }
  EXPECT_GT(jobs, 40);
}

TEST(EarlySigns, CoverEveryOfOurOptions) {
  for (const cli::Option& option : cli::option_table()) {
    EXPECT_TRUE(early::is_sign((cli::variable_name(option) + "=x").c_str())) << option.name;
  }
}

TEST(EarlySigns, KnowWhereHooksLie) {
  EXPECT_STREQ(early::kHooksDirectory, envgen::kHooksDirectory);
}

TEST(EarlySigns, AreAbsentFromAnOrdinaryImage) {
  for (const char* entry :
       {"PATH=/usr/bin", "HOME=/root", "HOSTNAME=a", "LANG=C.UTF-8", "TERM=xterm",
        "PYTHONUNBUFFERED=1", "NVIDIA_VISIBLE_DEVICES=all", "CUDA_VERSION=12.4", "NODE_VERSION=20",
        "TF_CPP_MIN_LOG_LEVEL=3", "LD_LIBRARY_PATH=/usr/local/cuda/lib64", "OMP_NUM_THREADS=8",
        "NCCL_VERSION=2.20", "KUBERNETES_SERVICE_HOST=10.0.0.1", "PIP_NO_CACHE_DIR=1", "", "="}) {
    EXPECT_FALSE(early::is_sign(entry)) << entry;
  }
  EXPECT_FALSE(early::is_program_sign("/usr/bin/python3"));
  EXPECT_TRUE(early::is_program_sign("/opt/conda/envs/a/bin/python"));
}

}  // namespace
