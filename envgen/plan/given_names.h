#pragma once
// Platforms that give each node of a job the same facts, by variables with names of their own. The
// facts are the number of nodes, this node's number, and the address of the first or of all nodes.
// A row makes the platform's profile (envgen/platform/platform_counted.cc). It also makes the signs
// of several nodes for a job that lacks some of the variables (cluster_signs.h).

#include <cstddef>
#include <iterator>
#include <string_view>

namespace envgen {

// Names of variables. "" = the platform has no such variable.
struct GivenNames {
  std::string_view platform;
  std::string_view count;   // number of nodes
  std::string_view own;     // number of this node, from 0
  std::string_view leader;  // address of node 0
  std::string_view hosts;   // addresses of all nodes, in the order of their numbers
  std::string_view slots;   // devices of a node
  std::string_view job;     // id of the job
  bool pods = false;        // node N has the leader's name, followed by "-N"
  bool always = false;      // applies also if the user did not ask for ranks
  bool leaders = false;     // if the leader's variable is missing, nodes are jobs of their own
};

// Sources: docs/platforms.md.
inline constexpr GivenNames kGivenRows[] = {
    {.platform = "skypilot",
     .count = "SKYPILOT_NUM_NODES",
     .own = "SKYPILOT_NODE_RANK",
     .hosts = "SKYPILOT_NODE_IPS",
     .slots = "SKYPILOT_NUM_GPUS_PER_NODE",
     .job = "SKYPILOT_TASK_ID",
     .always = true},
    {.platform = "lws",
     .count = "LWS_GROUP_SIZE",
     .own = "LWS_WORKER_INDEX",
     .leader = "LWS_LEADER_ADDRESS",
     .pods = true,
     .always = true},
    {.platform = "dstack",
     .count = "DSTACK_NODES_NUM",
     .own = "DSTACK_NODE_RANK",
     .leader = "DSTACK_MASTER_NODE_IP",
     .hosts = "DSTACK_NODES_IPS",
     .slots = "DSTACK_GPUS_PER_NODE",
     .job = "DSTACK_RUN_NAME"},
    {.platform = "beaker",
     .count = "BEAKER_REPLICA_COUNT",
     .own = "BEAKER_REPLICA_RANK",
     .leader = "BEAKER_LEADER_REPLICA_HOSTNAME",
     .job = "BEAKER_EXPERIMENT_ID",
     .leaders = true},
    {.platform = "baseten",
     .count = "BT_GROUP_SIZE",
     .own = "BT_NODE_RANK",
     .leader = "BT_LEADER_ADDR",
     .slots = "BT_NUM_GPUS",
     .job = "BT_TRAINING_JOB_ID"},
    {.platform = "metaflow",
     .count = "MF_PARALLEL_NUM_NODES",
     .own = "MF_PARALLEL_NODE_INDEX",
     .leader = "MF_PARALLEL_MAIN_IP"},
};
inline constexpr std::size_t kGivenNames = std::size(kGivenRows);

// Unpacks a row of the table, which is stored without addresses (packed_texts.h).
GivenNames given_names(std::size_t row);

}  // namespace envgen
