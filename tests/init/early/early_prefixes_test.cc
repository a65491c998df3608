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

#include "envgen/plan/given_names.h"
#include "envgen/resolve/hooks.h"
#include "init/cli/options.h"
#include "init/early/environment_prefixes.h"
#include "tests/source_path.h"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// They decide how something is done, never whether there is something to resolve; "CUDA_..." and
// "NCCL_..." are asked for with --bind alone, whose variable is a sign, the names of tasks where a
// variable of Volcano's is, jsrun's and CSM's beside LSF's.
constexpr std::array kNoSigns = {"HOME",
                                 "PATH",
                                 "PYTHONPATH",
                                 "HOSTNAME",
                                 "KUBERNETES_SERVICE_HOST",
                                 "PDSH_SSH_ARGS_APPEND",
                                 "ATB_HOME_PATH",
                                 "LD_LIBRARY_PATH",
                                 "BASH_ENV",
                                 "VIRTUAL_ENV",
                                 "CUDA_VISIBLE_DEVICES",
                                 "NCCL_TOPO_FILE",
                                 "NCCL_RAS_ENABLE",
                                 "TASK_NAME",
                                 "VOLCANO_TASK_NAME",
                                 "JSM_NAMESPACE_SIZE",
                                 "CSM_ALLOCATION_ID"};

TEST(EarlySigns, CoverEveryVariableThatEnvgenAsksFor) {
  const std::regex asked(R"((?:variable|get|get_or|has)\(\s*\"([A-Z][A-Z0-9_]*)\")");
  const std::regex asked_of_some(R"((?:number_in|first_set)\(\s*inputs,\s*\{?([^;{)]*))");
  const std::regex quoted_name(R"(\"([A-Z][A-Z0-9_]*)\")");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(source_path("envgen"))) {
    if (!entry.is_regular_file()) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), asked), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
    for (std::sregex_iterator at(text.begin(), text.end(), asked_of_some), end; at != end; ++at) {
      const std::string some = (*at)[1];
      for (std::sregex_iterator one(some.begin(), some.end(), quoted_name); one != end; ++one) {
        names.insert((*one)[1]);
      }
    }
  }
  ASSERT_GT(names.size(), 80U);
  for (const std::string& name : names) {
    if (std::ranges::find(kNoSigns, name) != kNoSigns.end()) continue;
    EXPECT_TRUE(early::has_known_prefix((name + "=1").c_str()))
        << "envgen reads " << name << ": add its prefix to base/constants/platform_variables.h";
  }
}

// MPIJobs whose operator sets no K_MPI_JOB_ROLE are known by these variables.
TEST(EarlySigns, CoverTheHostfilesOfMpiJobs) {
  for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                           "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}) {
    EXPECT_TRUE(early::has_known_prefix((std::string(name) + "=/etc/mpi/hostfile").c_str()))
        << name;
  }
}

TEST(EarlySigns, CoverThePlatformsThatCountForEveryCommand) {
  int platforms = 0;
  for (std::size_t row = 0; row < envgen::kGivenNames; ++row) {
    const envgen::GivenNames names = envgen::given_names(row);
    if (!names.always) continue;
    ++platforms;
    EXPECT_TRUE(early::has_known_prefix((std::string(names.count) + "=2").c_str()))
        << names.platform;
  }
  EXPECT_GT(platforms, 0);
}

TEST(EarlySigns, CoverEveryOfOurOptions) {
  for (const cli::Option& option : cli::option_table()) {
    EXPECT_TRUE(early::has_known_prefix((cli::variable_name(option) + "=x").c_str()))
        << option.name;
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
    EXPECT_FALSE(early::has_known_prefix(entry)) << entry;
  }
  EXPECT_FALSE(early::may_be_conda("/usr/bin/python3"));
  EXPECT_TRUE(early::may_be_conda("/opt/conda/envs/a/bin/python"));
}

}  // namespace
