#pragma once
// The cluster, which the platform tells every node alike, and the local node, which only one node
// knows. Terms: a node is one container; its rank is its index in Cluster::nodes. A device's rank
// is the job-wide rank of the one process that drives it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/lazy_text.h"

namespace envgen {

struct Device {
  int physical_id = 0;  // the number npu-smi shows on the host, /dev/davinci<N>
  int rank = 0;         // job-wide, 0 .. world size - 1

  bool operator==(const Device&) const = default;
};

// What a platform did not tell stays empty or 0: a PyTorchJob's worker knows only the master's
// name. Two nodes may share a server_id: two pods on one host.
struct Node {
  std::string host;    // by which the others reach it, a name or an address, without a port
  std::string role;    // "worker", "master", "chief", "ps", "evaluator", "launcher"; "" = no roles
  int role_index = 0;  // among the nodes of its role
  int port = 0;        // told with the host ("host:2222")
  int slots = 0;       // ranks that it runs; 0 for a node that runs none (a ps, an MPI launcher)
  std::string pod_name;      // "" when not told
  std::string server_id;     // any text: an address, "node_0", a UID
  std::string host_ip;       // "" when not told
  std::string container_ip;  // "" when not told
  std::vector<Device> devices;

  bool operator==(const Node&) const = default;
};

struct Cluster {
  std::vector<Node> nodes;             // in node-rank order
  LazyText rank_table;                 // what every rank reads, "" without one
  std::uint64_t device_addresses = 0;  // a digest of them in rank order, where a table tells them
  int world_size = 0;                  // ranks of the whole job: the sum of the slots
  std::string master_addr;             // where ranks meet, "" when the platform does not say
  int master_port = 0;                 // 0 when the platform does not say

  bool operator==(const Cluster&) const = default;
};

struct LocalNode {
  int node_rank = 0;
  std::string reason;       // how it was recognised: "pod_name job-0 is MA_CURRENT_INSTANCE_NAME"
  bool unnumbered = false;  // the launcher's rendezvous numbers the nodes; node_rank is 0 on each

  bool operator==(const LocalNode&) const = default;
};
// What PID 1 needs of it.
inline void fields(FieldVisitor& v, LocalNode& self) { v("node_rank", self.node_rank); }

}  // namespace envgen
