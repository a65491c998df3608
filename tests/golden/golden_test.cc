// Plans of saved snapshots, which are samples from documents and machines: NAME.snapshot.json in
// this directory, and NAME.plans beside it.

#include <gtest/gtest.h>

#include "envgen/plan/snapshot.h"
#include "tests/golden/difference.h"
#include "tests/golden/plans.h"

namespace {

using golden::directory;

struct Saved {
  const char* snapshot;
  std::vector<const char*> options;  // of each plan
};
void PrintTo(const Saved& saved, std::ostream* out) { *out << saved.snapshot; }

class GoldenPlan : public testing::TestWithParam<Saved> {};

TEST_P(GoldenPlan, IsWhatItWas) {
  const Saved& saved = GetParam();
  std::vector<golden::Section> sections;
  for (const char* options : saved.options) {
    sections.push_back(
        {std::string("plan ") + options, directory() + saved.snapshot + ".snapshot.json", options});
  }
  golden::expect_plans(saved.snapshot, "", sections);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, GoldenPlan,
    testing::Values(
        Saved{"modelarts_2x8", {"", "--node-rank 1", "--rank-order server-id"}},
        Saved{"modelarts_initializing", {""}}, Saved{"bare_2x8", {"", "--rank-start 0"}},
        Saved{"bare_hccn", {""}}, Saved{"hooks", {""}},
        Saved{"local",
              {"",
               "--signal TERM=INT,USR1=checkpoint,USR2=file:/run/save,HUP=none,INT=forward "
               "--second-term kill --drain 3s --grace 20s --checkpoint-timeout 2m "
               "--max-duration 12h",
               "--data /mnt/imagenet --data /mnt/coco=/scratch/coco --data-root /cache "
               "--data-version v2 --include '*.tar' --exclude tmp/ --verify "
               "--data-link --data-on-failure fail --data-timeout 1h"}}),
    [](const auto& saved) { return std::string(saved.param.snapshot); });

// The other plans are compared as they are laid out here.
TEST(GoldenPlan, JsonIsWhatItWasByteByByte) {
  const std::string arguments = "plan --json --snapshot " + directory() + "hooks.snapshot.json";
  const std::string plan = golden::trainit(arguments);
  golden::expect_file("hooks.plan.json", plan);
  EXPECT_EQ(plan, golden::trainit(arguments));
}

TEST(GoldenSnapshot, IsWrittenAsItWasByteByByte) {
  const std::string path = directory() + "hooks.snapshot.json";
  const auto snapshot = envgen::snapshot_from_json(golden::read_file(path), path);
  ASSERT_TRUE(snapshot);
  const std::string text = envgen::to_json(*snapshot, true);
  golden::expect_file("hooks.snapshot.json", text);
}

}  // namespace
