// Slurm's compressed node lists are expanded as Slurm's own program does it, in the same order.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cluster/cluster.h"

namespace cluster {
namespace {

class Slurm : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      start(Image::kMpi, 0, {.flags = {}, .args = {"--", "sleep", "infinity"}});
    }
  }

  [[nodiscard]] Words by_scontrol(const std::string& list) const {
    const docker::Output shown = node(0).exec(
        {"env", "SLURM_CONF=/tests/slurm.conf", "scontrol", "show", "hostnames", list});
    EXPECT_EQ(shown.code, 0) << shown.text;
    Words hosts;
    std::istringstream lines(shown.text);
    for (std::string line; std::getline(lines, line);) hosts.push_back(line);
    return hosts;
  }

  [[nodiscard]] Words by_trainit(const std::string& list) const {
    const docker::Output plan =
        node(0).exec({"env", "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=" + list, "SLURM_NODEID=0",
                      "trainit", "plan", "--json", "--", "true"});
    EXPECT_EQ(plan.code, 0) << plan.text;
    // Diagnostics come in the same pipe, before it.
    const auto json =
        nlohmann::json::parse(plan.text.substr(plan.text.find("{\n")), nullptr, false);
    Words hosts;
    if (!json.is_object()) return hosts;
    for (const auto& node : json["cluster"]["nodes"]) hosts.push_back(node["host"]);
    return hosts;
  }
};

TEST_F(Slurm, NodelistsAreExpandedAsScontrolDoesIt) {
  for (const char* list :
       {"n1", "n1,n2", "n[1-3]", "n[1-3,07]", "n[01-03]", "n[08-11]", "n[098-101]", "n[1,3,5-6],m2",
        "rack[1-2]n[1-2]", "n[3,1,2]", "gpu-a-[01-02],cpu[1-2]", "n[001-003,5]", "n[9-11]"}) {
    const Words expected = by_scontrol(list);
    EXPECT_FALSE(expected.empty()) << list;
    EXPECT_EQ(by_trainit(list), expected) << list;
  }
}

}  // namespace
}  // namespace cluster
