#include "envgen/formats/tfconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

namespace envgen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TfConfig parsed(std::string_view text) {
  auto config = parse_tf_config(text, "TF_CONFIG");
  if (config) return *config;
  ADD_FAILURE() << to_line(config.error());
  return {};
}

std::string refusal(std::string_view text) {
  auto config = parse_tf_config(text, "TF_CONFIG");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? "" : to_line(config.error());
}

TEST(TfConfig, NamesTheTasksOfEachRole) {
  TfConfig config =
      parsed(R"({"cluster":{"ps":["p:2222"],"worker":["a:2222","b:2222"]},"task":{"type":"worker",)"
             R"("index":1},"environment":"cloud"})");
  EXPECT_EQ(config.cluster["worker"], (std::map<int, std::string>{{0, "a:2222"}, {1, "b:2222"}}));
  EXPECT_EQ(config.cluster["ps"], (std::map<int, std::string>{{0, "p:2222"}}));
  EXPECT_EQ(config.type, "worker");
  EXPECT_EQ(config.index, 1);
  EXPECT_FALSE(config.index_text);
  EXPECT_FALSE(config.sparse);
  EXPECT_EQ(config.environment, "cloud");
}

TEST(TfConfig, AStringIndexIsAnIndexAndStaysAString) {
  TfConfig config =
      parsed(R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":"0"}})");
  EXPECT_TRUE(config.index_text);
  EXPECT_THAT(render_tf_config(config), HasSubstr(R"("index":"0")"));
}

TEST(TfConfig, TheSparseFormListsSomeTasksByTheirNumber) {
  TfConfig config = parsed(
      R"({"cluster":{"worker":{"3":"d:1"},"ps":["p:1","q:1"]},"task":{"type":"worker","index":3}})");
  EXPECT_TRUE(config.sparse);
  EXPECT_EQ(config.cluster["worker"], (std::map<int, std::string>{{3, "d:1"}}));
  // Kubeflow lists a dynamic job's ps alone and first, whatever its index.
  EXPECT_EQ(
      parsed(R"({"cluster":{"worker":{},"ps":["s:1"]},"task":{"type":"ps","index":2}})").index, 2);
}

TEST(TfConfig, AnEvaluatorNeedsNoPlaceInTheCluster) {
  EXPECT_EQ(parsed(R"({"cluster":{"worker":["a:1"]},"task":{"type":"evaluator","index":0}})").type,
            "evaluator");
}

TEST(TfConfig, AnEmptyObjectIsNoClusterAsForTensorFlow) {
  EXPECT_EQ(parsed("{}"), TfConfig{});
  EXPECT_EQ(render_tf_config({}), "{}");
}

struct Refused {
  const char* text;
  const char* found;
};

TEST(TfConfig, IsRefusedWhereTensorFlowFailsOrMisreads) {
  const Refused cases[] = {
      {"", "TF_CONFIG"},
      {"[1]", "an array"},
      {R"({'cluster': {'worker': ['a:1']}})", "single quotes"},
      {R"({"worker":["a:1"]})", "bare map of roles (\"worker\")"},
      {R"({"task":{"type":"worker","index":0}})", "no \"cluster\""},
      {R"({"sparseCluster":{"worker":{"0":"a:1"}},"task":{}})", "sparseCluster"},
      {R"({"cluster":{},"task":{"type":"worker","index":0}})", "no role"},
      {R"({"cluster":["a:1"],"task":{"type":"worker","index":0}})", "an array"},
      {R"({"cluster":{"worker":"a:1"},"task":{"type":"worker","index":0}})", "a string"},
      {R"({"cluster":{"worker":["a"]},"task":{"type":"worker","index":0}})", "\"a\""},
      {R"({"cluster":{"worker":["a:1,b:1"]},"task":{"type":"worker","index":0}})", "a:1,b:1"},
      {R"({"cluster":{"worker":["a:99999"]},"task":{"type":"worker","index":0}})", "a:99999"},
      {R"({"cluster":{"worker":[7]},"task":{"type":"worker","index":0}})", "an integer"},
      {R"({"cluster":{"worker":{"x":"a:1"}},"task":{"type":"worker","index":0}})", "\"x\""},
      {R"({"cluster":{"worker":{"1":"a:1","01":"b:1"}},"task":{"type":"worker","index":1}})",
       "index 1 twice"},
      {R"({"cluster":{"worker":["a:1"]}})", "no \"task\""},
      {R"({"cluster":{"worker":["a:1"]},"task":{"index":0}})", "no type"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker"}})", "no index"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0.5}})", "0.5"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":-1}})", "-1"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":"one"}})", "one"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":true}})", "true"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":1}})", "1 of 1 worker"},
      {R"({"cluster":{"worker":["a:1"]},"task":{"type":"ps","index":0}})", "has only worker"},
      {R"({"cluster":{"worker":["a:1","a:1"]},"task":{"type":"worker","index":0}})",
       "both worker 0 and worker 1"},
      {R"({"cluster":{"chief":["a:1"],"worker":["a:1"]},"task":{"type":"chief","index":0}})",
       "both chief 0 and worker 0"},
      {R"({"cluster":{"chief":["a:1"],"master":["b:1"]},"task":{"type":"chief","index":0}})",
       "both a chief and a master"},
      {R"({"cluster":{"chief":["a:1","b:1"]},"task":{"type":"chief","index":0}})", "2 tasks"},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(refusal(refused.text), AllOf(HasSubstr("TF_CONFIG"), HasSubstr(refused.found)))
        << refused.text;
  }
}

TEST(TfConfig, PythonsReprIsToldWhatToDo) {
  EXPECT_THAT(refusal("{'cluster': {}}"), HasSubstr("json.dumps()"));
}

TfConfig random_config(std::mt19937& random) {
  auto below = [&random](int limit) { return static_cast<int>(random() % limit); };
  TfConfig config;
  config.sparse = below(3) == 0;
  int port = 2000;
  for (const char* role : {"chief", "evaluator", "ps", "worker"}) {
    const bool single = role[0] == 'c' || role[0] == 'e';
    if (below(2) == 0 && role[0] != 'w') continue;
    std::map<int, std::string>& tasks = config.cluster[role];
    int index = 0;
    for (int count = 1 + (single ? 0 : below(5)); count > 0; --count) {
      if (config.sparse) index += below(3);
      const char* host = below(2) == 0 ? "node.ns.svc:" : "[fd00::2]:";
      tasks[index++] = host + std::to_string(port++);
    }
  }
  auto role = std::next(config.cluster.begin(), below(static_cast<int>(config.cluster.size())));
  config.type = role->first;
  config.index =
      std::next(role->second.begin(), below(static_cast<int>(role->second.size())))->first;
  config.index_text = below(2) == 0;
  if (below(2) == 0) config.environment = "cloud";
  return config;
}

TEST(TfConfig, WhatIsRenderedIsReadBack) {
  std::mt19937 random(20240131);
  for (int round = 0; round < 2000; ++round) {
    TfConfig config = random_config(random);
    std::string text = render_tf_config(config);
    auto again = parse_tf_config(text, "TF_CONFIG");
    ASSERT_TRUE(again.has_value()) << text << "\n" << to_line(again.error());
    ASSERT_EQ(*again, config) << text;
    ASSERT_EQ(text.find('\n'), std::string::npos);
  }
}

struct Sample {
  const char* file;
  const char* refused_for;  // nullptr: accepted
};

TEST(TfConfig, SamplesAreAcceptedOrRefusedForTheRightReason) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  const Sample known[] = {
      {"easyrec-207-chief-not-in-cluster.txt", "single quotes"},
      {"estimator-doc-chief.json", nullptr},
      {"kubeflow-evaluator-in-cluster.json", nullptr},
      {"kubeflow-ps-worker-cloud.json", nullptr},
      {"kubeflow-sparse-dynamic-worker.json", nullptr},
      {"tf-issue-34192-string-index.json", nullptr},
      {"tony-bare-cluster-no-task.json", "bare map of roles"},
  };
  for (const Sample& sample : known) {
    const std::string path = std::string(samples) + "/tfconfig/" + sample.file;
    std::ifstream file(path);
    ASSERT_TRUE(file) << path;
    std::string text((std::istreambuf_iterator<char>(file)), {});
    if (sample.refused_for != nullptr) {
      EXPECT_THAT(refusal(text), HasSubstr(sample.refused_for)) << path;
      continue;
    }
    TfConfig config = parsed(text);
    EXPECT_EQ(parsed(render_tf_config(config)), config) << path;
  }
}

Node task(std::string host, std::string role, int index, int port = 0) {
  Node node;
  node.host = std::move(host);
  node.role = std::move(role);
  node.role_index = index;
  node.port = port;
  return node;
}

std::string config_of(const Cluster& cluster, int self, bool index_text = false) {
  auto config = tf_config_of(cluster, self, index_text);
  if (!config) return to_line(config.error());
  return *config ? render_tf_config(**config) : "none";
}

TEST(TfConfigOfACluster, ParameterServersAndWorkers) {
  Cluster cluster;
  cluster.nodes = {task("ps-0", "ps", 0, 5001), task("w-0", "worker", 0), task("w-1", "worker", 1)};
  const std::string members =
      R"({"cluster":{"ps":["ps-0:5001"],"worker":["w-0:2222","w-1:2222"]},)";
  EXPECT_EQ(config_of(cluster, 0),
            members + R"("task":{"type":"ps","index":0},"environment":"cloud"})");
  EXPECT_EQ(config_of(cluster, 2),
            members + R"("task":{"type":"worker","index":1},"environment":"cloud"})");
  EXPECT_EQ(config_of(cluster, 2, true),
            members + R"("task":{"type":"worker","index":"1"},"environment":"cloud"})");
}

TEST(TfConfigOfACluster, NodesWithoutARoleAreWorkers) {
  Cluster cluster;
  cluster.nodes = {task("a", "", 0), task("fd00::2", "", 0)};
  EXPECT_EQ(config_of(cluster, 1), R"({"cluster":{"worker":["a:2222","[fd00::2]:2222"]},)"
                                   R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST(TfConfigOfACluster, AnEvaluatorStandsInItsOwnOnly) {
  Cluster cluster;
  cluster.nodes = {task("c", "chief", 0), task("w", "worker", 0), task("e", "evaluator", 0)};
  const std::string members = R"("worker":["w:2222"]},"task":)";
  EXPECT_EQ(config_of(cluster, 0), R"({"cluster":{"chief":["c:2222"],)" + members +
                                       R"({"type":"chief","index":0},"environment":"cloud"})");
  EXPECT_EQ(config_of(cluster, 2), R"({"cluster":{"chief":["c:2222"],"evaluator":["e:2222"],)" +
                                       members +
                                       R"({"type":"evaluator","index":0},"environment":"cloud"})");
}

TEST(TfConfigOfACluster, OneReplicaHasNone) {
  Cluster cluster;
  EXPECT_EQ(config_of(cluster, 0), "none");
  cluster.nodes = {task("a", "worker", 0)};
  EXPECT_EQ(config_of(cluster, 0), "none");
}

TEST(TfConfigOfACluster, WhatIsMissingIsNeverGuessed) {
  Cluster cluster;
  cluster.nodes = {task("a", "worker", 0), task("", "worker", 1)};
  EXPECT_THAT(config_of(cluster, 0), AllOf(HasSubstr("node 1"), HasSubstr("no host name")));
  cluster.nodes = {task("a", "worker", 0), task("b", "worker", 0)};
  EXPECT_THAT(config_of(cluster, 0), HasSubstr("index 0 of its role a second time"));
  cluster.nodes = {task("a", "worker", 0), task("b", "worker", 2)};
  EXPECT_THAT(config_of(cluster, 0), HasSubstr("a host is missing"));
  cluster.nodes = {task("a", "worker", 0), task("a", "worker", 1)};
  EXPECT_THAT(config_of(cluster, 0), HasSubstr("both worker 0 and worker 1"));
  cluster.nodes = {task("a", "chief", 0), task("b", "master", 0)};
  EXPECT_THAT(config_of(cluster, 0), HasSubstr("both a chief and a master"));
  cluster.nodes = {task("a", "worker", 0), task("b", "evaluator", 0), task("c", "evaluator", 1)};
  EXPECT_THAT(config_of(cluster, 0), HasSubstr("a second evaluator"));
}

}  // namespace
}  // namespace envgen
