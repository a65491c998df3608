#pragma once
// A parser and writer for TF_CONFIG:
// {"cluster":{"worker":["host:2222"],"ps":[...]},"task":{"type":"worker","index":0}}. Sources:
// TensorFlow's tfconfig_cluster_resolver.py, server_lib.py and multi_worker_util.py, Estimator's
// run_config.py, Kubeflow's tensorflow.go.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"

namespace envgen {

// The kernel's limit for one "NAME=value" (MAX_ARG_STRLEN).
inline constexpr std::size_t kMaxVariableBytes = 128UL * 1024;

// The default port of Kubeflow, Volcano and the task-training platform.
inline constexpr int kTfPort = 2222;

// Returns the number of ranks of a node with this role. A task is one rank, whatever devices it
// drives. A parameter server and an evaluator have no rank.
int tf_ranks(std::string_view role);

struct TfConfig {
  // Tasks by role: the index and the "host:port" of each. A list has the indices 0..n-1; Kubeflow's
  // sparse form is an object with some indices.
  std::map<std::string, std::map<int, std::string>> cluster;
  bool sparse = false;
  std::string type;  // role of this task
  int index = 0;
  bool index_text = false;  // the index is a string ("0")
  std::string environment;  // "cloud"; "": not present

  bool operator==(const TfConfig&) const = default;
};

// Parses TF_CONFIG. Refuses a text that TensorFlow or its Estimator would refuse or misread. An
// empty object gives an empty TfConfig, because TensorFlow treats it as no cluster. Other keys
// (rpc_layer, ...) are ignored: a text that the platform set is kept, never written again. `where`
// names the source in errors.
base::Result<TfConfig> parse_tf_config(std::string_view text, std::string_view where);

// Returns one line of JSON, with the roles in alphabetical order.
std::string render_tf_config(const TfConfig& config);

// Returns the TF_CONFIG for node `self` of a cluster with roles. Nodes without a role are workers.
// An evaluator is listed in `cluster` only for itself. Returns nullopt for a single replica.
base::Result<std::optional<TfConfig>> tf_config_of(const Cluster& cluster, int self,
                                                   bool index_text);

}  // namespace envgen
