#pragma once
// A node's part of a job whose ranks meet at a master's address: PyTorch's, JAX's and Paddle's.

#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

struct NodeJob {
  int node_rank = 0;
  int node_count = 1;
  int slots = 1;
  int first_rank = 0;
  int world_size = 1;
  bool mixed_slots = false;
  std::string address;  // of the master, as this node calls it; "" = not known
  int port = 0;
  bool port_given = false;
  int min_nodes = 0;  // elastic, from so many
  bool is_task =
      false;  // one of the job's processes, each of which may be in a container of its own

  [[nodiscard]] bool alone() const { return node_count == 1 && !is_task; }
  [[nodiscard]] bool elastic() const { return min_nodes > 0 && !alone(); }
};

// Nothing while the node's devices have not been counted. `planning` begins the errors.
Result<std::optional<NodeJob>> node_job_of(Inputs& inputs, const ResolvedCluster& resolved,
                                           const char* planning, int default_port);

// The error where the master's address is not known.
Status needs_master(const NodeJob& job, const char* planning);

// "host:port", an IPv6 address with its brackets, as flags and endpoints take it.
std::string flag_address(const std::string& address);
std::string endpoint_of(const NodeJob& job);

}  // namespace envgen
