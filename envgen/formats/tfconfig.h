#pragma once
// TF_CONFIG: {"cluster":{"worker":["host:2222"],"ps":[...]},"task":{"type":"worker","index":0}}.
// Sources: TensorFlow's tfconfig_cluster_resolver.py, server_lib.py and multi_worker_util.py,
// Estimator's run_config.py, Kubeflow's tensorflow.go.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"

namespace envgen {

// The kernel takes no longer "NAME=value" (MAX_ARG_STRLEN).
inline constexpr std::size_t kMaxVariableBytes = 128UL * 1024;

// Kubeflow, Volcano and the task-training platform all use it where nothing else is said.
inline constexpr int kTfPort = 2222;

// Of a node with this role: a task is one rank, whatever devices it drives; a parameter server and
// an evaluator train nothing.
int tf_ranks(std::string_view role);

struct TfConfig {
  // By role: the task's index and its "host:port". A list has the indices 0..n-1; Kubeflow's sparse
  // form is an object with some of them.
  std::map<std::string, std::map<int, std::string>> cluster;
  bool sparse = false;
  std::string type;  // of this task
  int index = 0;
  bool index_text = false;  // the index is a string ("0")
  std::string environment;  // "cloud"; "" = not there

  bool operator==(const TfConfig&) const = default;
};

// Refuses what TensorFlow would refuse or misread, or what its Estimator would. An empty object is
// an empty TfConfig: TensorFlow takes it for no cluster. Other keys (rpc_layer, ...) are passed
// over: an injected text is kept as it is, never rendered anew. `where` names the source in errors.
Result<TfConfig> parse_tf_config(std::string_view text, std::string_view where);

// One line of JSON, roles in alphabetical order.
std::string render_tf_config(const TfConfig& config);

// For the node `self` of a cluster with roles: nodes without a role are workers, an evaluator
// stands in `cluster` only for itself. Nothing for a single replica.
Result<std::optional<TfConfig>> tf_config_of(const Cluster& cluster, int self, bool index_text);

}  // namespace envgen
