#pragma once
// The membership of a job, as far as it can change while the job runs: two lists of nodes compared,
// and whether there is a reason to read them again.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "envgen/formats/cluster.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Equal for equal clusters, and for different ones as good as never; of any process on any machine.
// Never 0, which stands for no cluster at all. A child compares by it with what it was not given.
std::uint64_t cluster_id(const envgen::Cluster& cluster);

// Of what each node of a job sees alike. Left out is what a platform tells each node in its own
// words: how the first node is called (which is the one that answers at the master's address), and
// the master's address.
std::uint64_t common_id(const envgen::Cluster& cluster);
// The same as 32 hex digits. Who knows the nodes can make it.
std::string common_key(const envgen::Cluster& cluster);

// "b", else the pod's name or an address, else "node 1".
std::string node_name(const envgen::Cluster& cluster, std::size_t rank);

std::string count_of_nodes(std::size_t count);  // "1 node", which a list of none stands for too
// "3 nodes -> 2 (gone: c)", "2 nodes -> 3 (new: d)", "3 nodes, in another order",
// "3 nodes, not as before". At most a few names of each kind.
std::string difference(const envgen::Cluster& before, const envgen::Cluster& now);

// Paths as stat sees them. A file system says nothing of two changes within one tick of its clock,
// so what was changed a moment before it was read is read once more. Of what was only looked at for
// what it is (the working directory, where files come and go) its times count for nothing.
class LookedAt {
 public:
  // To be called before a look. True when what the last one saw may be another thing by now.
  bool may_have_changed();
  // After it: the paths that it was about, which are then known.
  void seen(const std::map<std::string, envgen::PathState>& paths);

 private:
  struct FileStamp {
    bool whole = true;  // what is in it counts
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
