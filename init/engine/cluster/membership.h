#pragma once
// Functions that compare two lists of nodes, because a job's list can change while it runs.
// LookedAt says whether to read the list again.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "envgen/formats/cluster.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Returns a digest of a cluster. Equal clusters have equal digests, in any process on any machine,
// and different ones practically never. Never returns 0, which stands for no cluster. A child
// compares its cluster by this digest with one that it did not get.
std::uint64_t cluster_id(const envgen::Cluster& cluster);

// Returns a digest of the part of a cluster that is the same on each node. The name of the first
// node and the master's address are left out, as a platform can word them differently for each
// node.
std::uint64_t common_id(const envgen::Cluster& cluster);
// Returns a digest of the names and ports of all nodes but the first, as 32 hex digits. Anyone who
// knows the nodes can compute it.
std::string common_key(const envgen::Cluster& cluster);

// Returns the host of a node ("b"), otherwise its pod name, an IP address or its server_id,
// otherwise "node 1".
std::string node_name(const envgen::Cluster& cluster, std::size_t rank);

std::string count_of_nodes(std::size_t count);  // "1 node" also for an empty list
// Returns a text about the change of a list, such as "3 nodes -> 2 (gone: c)", "2 nodes -> 3 (new:
// d)", "3 nodes, in another order" or "3 nodes, not as before". Names at most eight nodes that are
// gone, and at most eight new ones.
std::string difference(const envgen::Cluster& before, const envgen::Cluster& now);

// The stat() results of the paths that the last look at the list of nodes used. A file system does
// not show two changes within one tick of its clock. So if a path changed just before the look,
// may_have_changed() returns true once more. If the look needed only the kind of a path (the
// working directory, where files come and go), its size and times are ignored.
class LookedAt {
 public:
  // Returns true if a path of the last look may have changed since then, so that a new look is
  // needed. Call it before each look.
  bool may_have_changed();
  // Records the paths that a look has used. Call it after each look.
  void seen(const std::map<std::string, envgen::PathState>& paths);

 private:
  struct FileStamp {
    bool whole = true;  // true: the look used the content; false: only the kind
    int error = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const FileStamp&) const = default;
  };
  using FileStamps = std::map<std::string, FileStamp>;
  static FileStamp stamp_of(const std::string& path, bool whole);

  FileStamps stamps_;
  std::int64_t look_began_ns_ = 0;  // begin of the last look, wall clock
  bool settled_ = false;
};

}  // namespace engine
