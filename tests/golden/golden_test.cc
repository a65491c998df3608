// `trainit plan --json --snapshot` against the plans in this directory. TRAINIT_UPDATE_GOLDEN=1
// rewrites them: read the difference before it is committed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/golden/trainit.h"

namespace {

using golden::trainit;

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
                    Golden{"bare_hccn", "bare_hccn", ""}, Golden{"local", "local", ""},
                    Golden{"hooks", "hooks", ""},
                    Golden{"course", "local",
                           "--signal TERM=INT,USR1=checkpoint,USR2=file:/run/save,HUP=none,"
                           "INT=forward "
                           "--second-term kill --drain 3s --grace 20s --checkpoint-timeout 2m "
                           "--max-duration 12h"},
                    Golden{"data", "local",
                           "--data /mnt/imagenet --data /mnt/coco=/scratch/coco --data-root /cache "
                           "--data-version v2 --include '*.tar' --exclude tmp/ --verify "
                           "--data-link --data-on-failure fail --data-timeout 1h"},
                    Golden{"restart_across_nodes", "matrix/volcano-pytorch.last",
                           "--max-restarts 3 --no-restart-on 1-2,126 --restart-across-nodes"},
                    Golden{"elastic", "matrix/modelarts-ascend.first", "--elastic --min-nodes 2"}),
    [](const auto& golden) { return std::string(golden.param.plan); });

TEST(GoldenPlan, TheSameSnapshotGivesTheSameBytes) {
  std::string arguments = "plan --json --snapshot " + directory() + "modelarts_2x8.snapshot.json";
  EXPECT_EQ(trainit(arguments), trainit(arguments));
}

}  // namespace
