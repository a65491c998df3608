#pragma once
// The cluster, which is the same on every node, and the local node, which is this node's place in
// it. A node is one container, and its rank is its index in Cluster::nodes. The rank of a device is
// the job-wide rank of the process that drives it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/lazy_text.h"

namespace envgen {

struct Device {
  int physical_id = 0;  // number in npu-smi on the host, and of /dev/davinci<N>
  int rank = 0;         // job-wide, 0 .. world size - 1

  bool operator==(const Device&) const = default;
};

// A node of the job. A value that the platform does not give is empty or 0. For example, a worker
// of a PyTorchJob knows only the master's name. Two nodes may have the same server_id: two pods on
// one host.
struct Node {
  std::string host;  // name or address by which other nodes reach it, without a port
  // "worker", "master", "chief", "ps", "evaluator" or "launcher"; "": the job has no roles.
  std::string role;
  int role_index = 0;        // index among the nodes with the same role
  int port = 0;              // port that the platform gives with the host ("host:2222")
  int slots = 0;             // number of the node's ranks; 0 for a ps or an MPI launcher
  std::string pod_name;      // "": not given
  std::string server_id;     // any text: an address, "node_0", a UID
  std::string host_ip;       // "": not given
  std::string container_ip;  // "": not given
  std::vector<Device> devices;

  bool operator==(const Node&) const = default;
};

struct Cluster {
  std::vector<Node> nodes;             // the index is the node rank
  base::LazyText rank_table;           // the rank table that every rank reads; "": no table
  std::uint64_t device_addresses = 0;  // digest of the devices' addresses in rank order; 0: no
                                       // table has them
  int world_size = 0;                  // number of ranks of the job, the sum of all slots
  std::string master_addr;             // rendezvous address; "": not given
  int master_port = 0;                 // 0: not given

  bool operator==(const Cluster&) const = default;
};

struct LocalNode {
  int node_rank = 0;
  std::string reason;  // why this is the local node: "pod_name job-0 is MA_CURRENT_INSTANCE_NAME"
  bool unnumbered = false;  // the launcher's rendezvous will number the nodes, so node_rank is
                            // always 0

  bool operator==(const LocalNode&) const = default;
};
// The bytes for PID 1 contain only the node rank.
inline void fields(base::FieldVisitor& v, LocalNode& self) { v("node_rank", self.node_rank); }

}  // namespace envgen
