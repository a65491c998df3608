#pragma once
// The cluster, which the platform describes equally to every node, and the local node, which only
// that node knows. A node is one container; its rank is its index in Cluster::nodes. A device's
// rank is the job-wide rank of the one process that drives it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/lazy_text.h"

namespace envgen {

struct Device {
  int physical_id = 0;  // number in npu-smi on the host, /dev/davinci<N>
  int rank = 0;         // job-wide, 0 .. world size - 1

  bool operator==(const Device&) const = default;
};

// A node of the job. A value that the platform does not give is empty or 0: a PyTorchJob's worker
// knows only the master's name. Two nodes may share a server_id: two pods on one host.
struct Node {
  std::string host;  // name or address for other nodes, without a port
  // "worker", "master", "chief", "ps", "evaluator", "launcher"; "": the job has no roles.
  std::string role;
  int role_index = 0;        // index among the nodes of its role
  int port = 0;              // given with the host ("host:2222")
  int slots = 0;             // number of its ranks; 0 for a ps or an MPI launcher
  std::string pod_name;      // "": not given
  std::string server_id;     // any text: an address, "node_0", a UID
  std::string host_ip;       // "": not given
  std::string container_ip;  // "": not given
  std::vector<Device> devices;

  bool operator==(const Node&) const = default;
};

struct Cluster {
  std::vector<Node> nodes;             // index: the node rank
  base::LazyText rank_table;           // the table that every rank reads; "": no table
  std::uint64_t device_addresses = 0;  // digest in rank order, if a table has the addresses
  int world_size = 0;                  // number of ranks of the job: the sum of the slots
  std::string master_addr;             // rendezvous address; "": not given
  int master_port = 0;                 // 0: not given

  bool operator==(const Cluster&) const = default;
};

struct LocalNode {
  int node_rank = 0;
  std::string reason;  // why this is the local node: "pod_name job-0 is MA_CURRENT_INSTANCE_NAME"
  bool unnumbered = false;  // the launcher's rendezvous numbers the nodes; node_rank is 0

  bool operator==(const LocalNode&) const = default;
};
// The wire form has only what PID 1 needs.
inline void fields(base::FieldVisitor& v, LocalNode& self) { v("node_rank", self.node_rank); }

}  // namespace envgen
