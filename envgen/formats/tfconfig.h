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

// Maximum size of "NAME=value": the kernel's limit for one environment entry (MAX_ARG_STRLEN).
inline constexpr std::size_t kMaxVariableBytes = 128UL * 1024;

// The default port of Kubeflow, Volcano and the task-training platform.
inline constexpr int kTfPort = 2222;

// Returns the number of ranks of a node with this role: 1, or 0 for a parameter server and an
// evaluator. A task is one rank, whatever devices it drives.
int tf_ranks(std::string_view role);

struct TfConfig {
  // The tasks of each role: index -> "host:port". A list has the indices 0..n-1. Kubeflow's sparse
  // form is an object that contains only some of the indices.
  std::map<std::string, std::map<int, std::string>> cluster;
  bool sparse = false;
  std::string type;  // role of this task
  int index = 0;
  bool index_text = false;  // the index is a string ("0")
  std::string environment;  // "cloud"; "": the key is not present

  bool operator==(const TfConfig&) const = default;
};

// Parses TF_CONFIG. Refuses a text that TensorFlow or its Estimator would refuse or misread. An
// empty object gives an empty TfConfig, because TensorFlow treats it as no cluster. Other keys
// (rpc_layer, ...) are ignored, which loses nothing: trainit never writes again a text that the
// platform has set. `where` names the source in errors.
base::Result<TfConfig> parse_tf_config(std::string_view text, std::string_view where);

// Returns one line of JSON, with the roles in alphabetical order.
std::string render_tf_config(const TfConfig& config);

// Returns the TF_CONFIG for node `self` of a cluster with roles. Nodes without a role are workers.
// An evaluator appears in `cluster` only in its own TF_CONFIG. Returns nullopt for a job with a
// single replica.
base::Result<std::optional<TfConfig>> tf_config_of(const Cluster& cluster, int self,
                                                   bool index_text);

}  // namespace envgen
