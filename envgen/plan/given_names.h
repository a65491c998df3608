#pragma once
// A table of platforms that describe a job by a few variables, equal on all nodes except for the
// node's number: the number of nodes, this node's number, and the address of the first or of all
// nodes. The table has the names of these variables for each platform. A row serves two purposes:
// detecting the platform (envgen/platform/platform_counted.cc), and recognising several nodes in a
// job that lacks some of the variables (cluster_signs.h).

#include <cstddef>
#include <iterator>
#include <string_view>

namespace envgen {

// Names of a platform's variables. "" = the platform has no such variable.
struct GivenNames {
  std::string_view platform;
  std::string_view count;   // number of nodes
  std::string_view own;     // number of this node, counted from 0
  std::string_view leader;  // address of node 0
  std::string_view hosts;   // addresses of all nodes, in the order of their numbers
  std::string_view slots;   // number of devices of a node
  std::string_view job;     // id of the job
  bool pods = false;        // the name of node N's pod is the leader's name with "-N"
  bool always = false;      // the platform is used even if the user did not ask for ranks
  bool leaders = false;     // without the leader's variable, each node is a job of its own
};

// Sources of the names: docs/platforms.md.
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
