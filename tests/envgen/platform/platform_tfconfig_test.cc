#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Request asks(const char* framework) {
  Request request = request_of({"python", "train.py"});
  request.framework = framework;
  return request;
}

std::string seen(const std::string& config, const Request& request) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"TF_CONFIG=" + config});
  Inputs inputs(snapshot, request);
  return platform_named("tfconfig").detect(inputs).value_or("");
}

const std::string kTwo =
    R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":1}})";
const std::string kOne = R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0}})";

TEST(TfConfigPlatform, IsSeenOnlyWhereRanksAreAskedFor) {
  EXPECT_EQ(seen(kTwo, request_of({"python", "train.py"})), "");
  EXPECT_EQ(seen(kTwo, asks("tensorflow")), "TF_CONFIG is set");
  EXPECT_EQ(seen(kTwo, asks("pytorch")), "TF_CONFIG lists several tasks");
  EXPECT_EQ(seen(kOne, asks("pytorch")), "");
  EXPECT_EQ(seen("{'cluster'", asks("pytorch")), "") << "it is none of PyTorch's";
  EXPECT_NE(seen("{'cluster'", asks("tensorflow")), "");
}

TEST(TfConfigPlatform, IsKeptAsItIs) {
  Container one;
  one.variables = {"TF_CONFIG=" + kTwo};
  const ResolvedCluster resolved = locate("tfconfig", one, asks("tensorflow"));
  EXPECT_THAT(resolved.cluster.nodes, SizeIs(2));
  EXPECT_EQ(resolved.local_node.node_rank, 1);
  EXPECT_EQ(resolved.platform.tf_config, kTwo);
}

TEST(TfConfigPlatform, ItsTasksAreNodesOfAnotherFramework) {
  Container one;
  one.variables = {R"(TF_CONFIG={"cluster":{"worker":["a:1","b:1"],"ps":["c:1"]},)"
                   R"("task":{"type":"worker","index":1}})"};
  Request request = asks("pytorch");
  request.slots = 8;
  const ResolvedCluster resolved = locate("tfconfig", one, request);
  EXPECT_EQ(resolved.cluster.nodes[0].slots, 8);
  EXPECT_EQ(resolved.cluster.nodes[2].slots, 0) << "a ps has no rank";
  EXPECT_EQ(resolved.cluster.world_size, 16);
  request.framework = "tensorflow";
  EXPECT_EQ(locate("tfconfig", one, request).cluster.world_size, 2);
}

struct Sample {
  const char* name;
  std::size_t nodes;    // 0: refused
  const char* refused;  // for this
};

class TfConfigSamples : public testing::TestWithParam<Sample> {};

TEST_P(TfConfigSamples, AreAClusterOrAnErrorThatNamesTheVariable) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  std::ifstream stream(std::string(samples) + "/tfconfig/" + GetParam().name, std::ios::binary);
  ASSERT_TRUE(stream) << GetParam().name;
  Container one;
  one.variables = {"TF_CONFIG=" + std::string{std::istreambuf_iterator<char>(stream), {}}};
  if (GetParam().nodes == 0) {
    EXPECT_THAT(refusal("tfconfig", one, asks("tensorflow")), HasSubstr(GetParam().refused));
    return;
  }
  EXPECT_THAT(locate("tfconfig", one, asks("tensorflow")).cluster.nodes, SizeIs(GetParam().nodes));
}

INSTANTIATE_TEST_SUITE_P(Public, TfConfigSamples,
                         testing::Values(Sample{"easyrec-207-chief-not-in-cluster.txt", 0,
                                                "TF_CONFIG"},
                                         Sample{"estimator-doc-chief.json", 6, ""},
                                         Sample{"kubeflow-evaluator-in-cluster.json", 3, ""},
                                         Sample{"kubeflow-ps-worker-cloud.json", 2, ""},
                                         Sample{"kubeflow-sparse-dynamic-worker.json", 3, ""},
                                         Sample{"tf-issue-34192-string-index.json", 3, ""},
                                         Sample{"tony-bare-cluster-no-task.json", 0, "TF_CONFIG"}));

}  // namespace
}  // namespace envgen::jobs
