// `trainit plan --json --snapshot` against the plans in this directory. TRAINIT_UPDATE_GOLDEN=1
// rewrites them: read the difference before it is committed.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

struct Golden {
  const char* plan;
  const char* snapshot;
  const char* options;
};

std::string directory() { return std::string(TRAINIT_SOURCE_DIR) + "/tests/golden/"; }

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What `trainit ARGUMENTS` prints on stdout.
std::string trainit(const std::string& arguments) {
  const char* binary = std::getenv("TRAINIT_BINARY");
  EXPECT_NE(binary, nullptr) << "set TRAINIT_BINARY";
  std::string command = std::string(binary == nullptr ? "false" : binary) + " " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  char chunk[4096];
  while (std::size_t size = std::fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, size);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

class GoldenPlan : public testing::TestWithParam<Golden> {};

TEST_P(GoldenPlan, IsWhatItWas) {
  std::string plan = trainit("plan --json --snapshot " + directory() + GetParam().snapshot +
                             ".snapshot.json " + GetParam().options);
  std::string path = directory() + GetParam().plan + ".plan.json";
  ASSERT_FALSE(plan.empty());
  if (std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << plan;
  EXPECT_EQ(plan, read_file(path));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, GoldenPlan,
    testing::Values(Golden{"modelarts_2x8_node0", "modelarts_2x8", ""},
                    Golden{"modelarts_2x8_node1", "modelarts_2x8", "--node-rank 1"},
                    Golden{"modelarts_2x8_server_id_order", "modelarts_2x8",
                           "--rank-order server-id"},
                    Golden{"modelarts_initializing", "modelarts_initializing", ""},
                    Golden{"bare_2x8_node1", "bare_2x8", ""},
                    Golden{"bare_2x8_node0", "bare_2x8", "--rank-start 0"},
                    Golden{"bare_hccn", "bare_hccn", ""}, Golden{"local", "local", ""}),
    [](const auto& golden) { return std::string(golden.param.plan); });

TEST(GoldenPlan, TheSameSnapshotGivesTheSameBytes) {
  std::string arguments = "plan --json --snapshot " + directory() + "modelarts_2x8.snapshot.json";
  EXPECT_EQ(trainit(arguments), trainit(arguments));
}

}  // namespace
