#pragma once
// This node's part of a job whose ranks meet at the address of a master: PyTorch, JAX, Paddle.

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
  std::string address;  // the master's address as this node reaches it; "": not known
  int port = 0;
  bool port_given = false;
  int min_nodes = 0;     // minimum number of nodes of an elastic job; 0: not elastic
  bool is_task = false;  // the platform started this container as one process of the job

  [[nodiscard]] bool alone() const { return node_count == 1 && !is_task; }
  [[nodiscard]] bool elastic() const { return min_nodes > 0 && !alone(); }
};

// Returns this node's part of the job; nullopt while the node's devices are not counted yet.
// `planning` is the beginning of an error's text.
base::Result<std::optional<NodeJob>> node_job_of(Inputs& inputs, const ResolvedCluster& resolved,
                                                 const char* planning, int default_port);

// Fails if the master's address is not known.
base::Status needs_master(const NodeJob& job, const char* planning);

// Return the master's address, or "host:port", as flags and endpoints need it: with brackets around
// an IPv6 address.
std::string flag_address(const std::string& address);
std::string endpoint_of(const NodeJob& job);

}  // namespace envgen
