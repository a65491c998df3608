#pragma once
// What the user asked for, as far as it decides the plan. The command line fills it (init/cli);
// an empty or unset member leaves the choice to the platform profile.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/ranktable.h"

namespace envgen {

// What ASCEND_DEVICE_ID and DEVICE_ID mean: the index among this node's devices (ModelArts), or the
// number npu-smi shows on the host (the MindSpore document on bare metal).
enum class DeviceIds : unsigned char { kLogical, kPhysical };

// Where the output of a job's processes goes.
enum class Output : unsigned char {
  kFirst,    // the node's first rank inherits stdout and stderr, each other one has a file
  kInherit,  // all inherit
  kFiles,    // each has a file
};

struct Request {
  std::vector<std::string> command;
  std::string platform;
  std::string framework;
  std::string rank_table;  // a file, or a directory that holds jobstart_hccl.json
  std::optional<RankOrder> rank_order;
  std::optional<int> node_rank;
  std::optional<int> rank_start;  // the job-wide rank of this node's first device
  std::string devices;            // "0,1,4-7": for a table generated from hccn.conf
  std::optional<DeviceIds> device_ids;
  std::optional<Output> output;
  std::string work_dir;  // device<i> directories lie there
  std::string log_dir;
  bool strict = false;
  bool clean_device_dirs = false;
  std::optional<std::int64_t> grace_ms;
  std::int64_t rank_table_timeout_ms = 30LL * 60 * 1000;
  std::int64_t hold_ms = 0;
};

}  // namespace envgen
