// Google's Vertex AI custom training. CLUSTER_SPEC lists the replicas ("host:2222") of up to four
// worker pools: the primary replica, workers, parameter servers (or reducers of a Reduction
// Server), evaluators. Its task shows which replica this is. Only the first two pools run ranks.
// TensorFlow's TF_CONFIG is set as well.
// Source: "Distributed training" of Vertex AI's documents, "Format for CLUSTER_SPEC". The order of
// ranks is that of deepmind/xmanager's cloud/utils.py.

#include <array>

#include "base/json.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading CLUSTER_SPEC";
constexpr const char* kForm =
    R"(it has to be {"cluster":{"workerpool0":["host:2222"],...},"task":{"type":"workerpool0","index":0}})";

struct Pool {
  std::string_view name;
  std::string_view role;
};
constexpr std::array<Pool, 4> kPools = {{{"workerpool0", "chief"},
                                         {"workerpool1", "worker"},
                                         {"workerpool2", "ps"},
                                         {"workerpool3", "evaluator"}}};

std::unexpected<base::Error> malformed(std::string where, std::string found) {
  return base::fail(kReading, std::move(where), std::move(found), kForm);
}

struct Spec {
  std::vector<Node> nodes;
  std::string type;  // pool of this task: "workerpool1"
  int index = 0;
  int port = 0;  // port of the primary replica
};

base::Status read_pool(const base::json::Value& cluster, const Pool& pool, Spec& spec) {
  const auto list = cluster.find(pool.name);
  if (!list) return {};
  const std::string where = "CLUSTER_SPEC: cluster." + std::string(pool.name);
  if (!list->is(base::json::Type::kArray))
    return malformed(where, std::string(base::json::type_name(list->type())));
  int index = 0;
  for (const base::json::Value& replica : *list) {
    const auto host = parse_host_port(replica.text());
    if (!host || !replica.is(base::json::Type::kString))
      return malformed(where, base::quoted(replica.text()));
    Node node;
    node.host = host->host;
    node.port = host->port;
    node.role = std::string(pool.role);
    node.role_index = index++;
    spec.nodes.push_back(std::move(node));
  }
  return {};
}

base::Result<Spec> spec_of(std::string_view text) {
  auto document = base::json::Document::parse(text, "CLUSTER_SPEC");
  if (!document) return std::unexpected(document.error().error);
  const base::json::Value root = document->root();
  if (!root.is(base::json::Type::kObject))
    return malformed("CLUSTER_SPEC", std::string(base::json::type_name(root.type())));
  const auto cluster = root.find("cluster");
  const auto task = root.find("task");
  if (!cluster || !task || !cluster->is(base::json::Type::kObject) ||
      !task->is(base::json::Type::kObject)) {
    return malformed("CLUSTER_SPEC", "no cluster or no task");
  }
  Spec spec;
  for (const Pool& pool : kPools) TRY(read_pool(*cluster, pool, spec));
  const auto type = task->find("type");
  const auto index = task->find("index");
  const auto place = index ? base::parse_count<int>(index->text()) : std::nullopt;
  if (!type || !place) return malformed("CLUSTER_SPEC: task", "no type or no index");
  spec.type = std::string(type->text());
  spec.index = *place;
  return spec;
}

std::optional<std::string> detect_vertex(Inputs& inputs) {
  if (inputs.variable("CLUSTER_SPEC").find("\"workerpool0\"") == std::string_view::npos) {
    return std::nullopt;
  }
  return "CLUSTER_SPEC lists worker pools";
}

// Removes parameter servers and evaluators, for a framework whose ranks connect directly.
void leave_out_idle(std::vector<Node>& nodes) {
  std::erase_if(nodes,
                [](const Node& node) { return node.role == "ps" || node.role == "evaluator"; });
  for (Node& node : nodes) {
    node.port = 0;
    node.role.clear();
    node.role_index = 0;
  }
}

Location locate_vertex(Inputs& inputs) {
  const std::string& wanted = inputs.request().framework;
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("CLOUD_ML_JOB_ID"));
  if (wanted == "tensorflow" && !inputs.variable("TF_CONFIG").empty()) {
    return locate_by_tf_config(inputs, std::move(platform));
  }
  auto spec = spec_of(inputs.variable("CLUSTER_SPEC"));
  if (!spec) return spec.error();
  std::optional<std::size_t> own;
  for (std::size_t i = 0; i < spec->nodes.size(); ++i) {
    const Node& node = spec->nodes[i];
    for (const Pool& pool : kPools) {
      const bool same = spec->type == pool.name && node.role == pool.role;
      if (same && node.role_index == spec->index) own = i;
    }
  }
  const std::string task = spec->type + " " + std::to_string(spec->index);
  if (!own) {
    return base::Error{"finding this node", "CLUSTER_SPEC",
                       "task " + task + ", which its cluster does not have",
                       "task.index has to be a place in cluster." + spec->type};
  }
  GivenMaster master{spec->nodes[0].host, "CLUSTER_SPEC", spec->nodes[0].port};
  const bool idle = tf_ranks(spec->nodes[*own].role) == 0;
  if (wanted != "tensorflow") {
    if (idle && asks_for_ranks(inputs.request())) {
      return base::Error{
          "finding this node", "CLUSTER_SPEC", "task " + task + ", which runs no ranks",
          "ranks are of workerpool0 and workerpool1: give this pool a command of its own"};
    }
    if (!idle)
      leave_out_idle(spec->nodes);  // *own stays valid, because the idle nodes are the
                                    // last ones
  }
  return locate_node(inputs, std::move(spec->nodes),
                     {static_cast<int>(*own), "CLUSTER_SPEC's task " + task}, std::move(master),
                     std::move(platform), 0);
}

}  // namespace

extern const Platform kVertexPlatform = {"vertex", detect_vertex, locate_vertex};

}  // namespace envgen
