#pragma once
// The membership of a job, which can change while the job runs. These functions compare two lists
// of nodes, and LookedAt says whether to read the list again.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "envgen/formats/cluster.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Returns a digest. Equal clusters have equal digests, in any process on any machine, and different
// ones practically never. Never returns 0, which stands for no cluster. A child compares its
// cluster by the digest with one that it was not given.
std::uint64_t cluster_id(const envgen::Cluster& cluster);

// Returns a digest of the data that each node of a job sees alike. Two things are left out, as a
// platform can word them differently for each node: the name of the first node, and the master's
// address.
std::uint64_t common_id(const envgen::Cluster& cluster);
// Returns a digest of the names and ports of all nodes but the first, as 32 hex digits. Anyone who
// knows the nodes can compute it.
std::string common_key(const envgen::Cluster& cluster);

// Returns the name of a node ("b"), otherwise its pod name or an address, otherwise "node 1".
std::string node_name(const envgen::Cluster& cluster, std::size_t rank);

std::string count_of_nodes(std::size_t count);  // "1 node" also for an empty list
// Describes the change of a list, such as "3 nodes -> 2 (gone: c)", "2 nodes -> 3 (new: d)", "3
// nodes, in another order" or "3 nodes, not as before". Names at most eight nodes of each kind.
std::string difference(const envgen::Cluster& before, const envgen::Cluster& now);

// The paths of the last look, as stat() shows them. A file system does not show two changes within
// one tick of its clock. So a path that changed just before the look is read once more. If the look
// needed only the kind of a path (the working directory, where files come and go), its times are
// ignored.
class LookedAt {
 public:
  // Call this before a look. Returns true if the paths of the last look may have changed since.
  bool may_have_changed();
  // Call this after a look, with the paths that it used.
  void seen(const std::map<std::string, envgen::PathState>& paths);

 private:
  struct FileStamp {
    bool whole = true;  // the content matters
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
  std::int64_t look_began_ns_ = 0;  // wall clock
  bool settled_ = false;
};

}  // namespace engine
