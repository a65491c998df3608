#include "init/engine/cluster/membership.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/content_hash.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
// Longest tick of a file system's clock: FAT's is two seconds, and a file server's clock can differ
// from this machine's.
constexpr std::int64_t kTickNs = 3000 * kNsPerMs;
constexpr std::size_t kMaxNames = 8;

// A sink that computes the hash FNV-1a. The length of each text is added too, so that "ab" + "c"
// and "a" + "bc" differ.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    add(static_cast<std::int64_t>(text.size()));
  }
  void add(std::int64_t number) {
    for (int i = 0; i < 8; ++i) {
      byte(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i)));
    }
  }
  // Returns the hash; 1 instead of 0, which stands for no cluster.
  [[nodiscard]] std::uint64_t value() const { return value_ == 0 ? 1 : value_; }

 private:
  void byte(unsigned char one) {
    value_ ^= one;
    value_ *= 0x100000001b3;
  }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// A sink like Hash that keeps the data itself as text.
struct Text {
  std::string bytes;
  void add(std::string_view text) {
    bytes += std::to_string(text.size()) + ":" + std::string(text);
  }
  void add(std::int64_t number) { bytes += std::to_string(number) + ","; }
};

std::string hex16(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[15 - i] = kDigits[(value >> (4 * i)) & 0xF];
  return text;
}

// Adds the data of `node` that is the same in the list of each node.
template <class Into>
void add_common(Into& hash, const envgen::Node& node) {
  hash.add(node.role);
  hash.add(node.role_index);
  hash.add(node.slots);
  hash.add(static_cast<std::int64_t>(node.devices.size()));
  for (const envgen::Device& device : node.devices) {
    hash.add(device.physical_id);
    hash.add(device.rank);
  }
}

// Adds only the names and ports of the nodes. So two nodes whose lists differ only in other data
// still have the same key, and node 0 can name the difference.
template <class Into>
void add_names(Into& into, const envgen::Cluster& cluster) {
  for (std::size_t rank = 1; rank < cluster.nodes.size(); ++rank) {
    if (cluster.nodes[rank].host.empty()) continue;
    into.add(cluster.nodes[rank].host);
    into.add(cluster.nodes[rank].port);
  }
}

template <class Into>
void add_all_common(Into& into, const envgen::Cluster& cluster) {
  into.add(static_cast<std::int64_t>(cluster.nodes.size()));
  for (std::size_t rank = 0; rank < cluster.nodes.size(); ++rank) {
    const envgen::Node& node = cluster.nodes[rank];
    add_common(into, node);
    if (rank > 0) into.add(node.host);
    into.add(node.port);
  }
  into.add(cluster.world_size);
  into.add(static_cast<std::int64_t>(cluster.device_addresses));
}

// Returns the names of the nodes without their order. A node without a name gets "node <rank>", so
// it cannot be distinguished from another such node.
std::multiset<std::string> names_in(const envgen::Cluster& cluster) {
  std::multiset<std::string> names;
  for (std::size_t rank = 0; rank < cluster.nodes.size(); ++rank) {
    names.insert(node_name(cluster, rank));
  }
  return names;
}

std::string missing_in(const std::multiset<std::string>& names,
                       const std::multiset<std::string>& list) {
  std::vector<std::string> missing;
  std::ranges::set_difference(names, list, std::back_inserter(missing));
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMaxNames); ++i) {
    text += (i == 0 ? "" : ", ") + missing[i];
  }
  if (missing.size() > kMaxNames) {
    text += " and " + std::to_string(missing.size() - kMaxNames) + " more";
  }
  return text;
}

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000 * kNsPerMs + time.tv_nsec;
}

// True if the look has read the content: the bytes of a file, the names in a directory. True for
// any other kind of path too.
bool has_content(const envgen::PathState& state) {
  using PathKind = envgen::PathState::Kind;
  if (state.kind == PathKind::kDirectory) return state.listed;
  return state.kind != PathKind::kFile || !state.content.empty() || state.size_bytes == 0;
}

}  // namespace

std::uint64_t cluster_id(const envgen::Cluster& cluster) {
  Hash hash;
  hash.add(static_cast<std::int64_t>(cluster.nodes.size()));
  for (const envgen::Node& node : cluster.nodes) {
    add_common(hash, node);
    for (const std::string* text :
         {&node.host, &node.pod_name, &node.server_id, &node.host_ip, &node.container_ip}) {
      hash.add(*text);
    }
    hash.add(node.port);
  }
  base::ContentHash table;
  cluster.rank_table.write([&table](std::string_view piece) { table.update(piece); });
  hash.add(static_cast<std::int64_t>(table.value()));
  hash.add(static_cast<std::int64_t>(cluster.device_addresses));
  hash.add(cluster.world_size);
  hash.add(cluster.master_addr);
  hash.add(cluster.master_port);
  return hash.value();
}

std::uint64_t common_id(const envgen::Cluster& cluster) {
  Hash hash;
  add_all_common(hash, cluster);
  return hash.value();
}

std::string common_key(const envgen::Cluster& cluster) {
  Text text;
  add_names(text, cluster);
  std::string key;
  for (const std::uint64_t seed : {1U, 2U}) key += hex16(base::hash_of(text.bytes, seed));
  return key;
}

std::string node_name(const envgen::Cluster& cluster, std::size_t rank) {
  if (rank < cluster.nodes.size()) {
    const envgen::Node& node = cluster.nodes[rank];
    for (const std::string* name :
         {&node.host, &node.pod_name, &node.container_ip, &node.host_ip, &node.server_id}) {
      if (!name->empty()) return *name;
    }
  }
  return "node " + std::to_string(rank);
}

std::string count_of_nodes(std::size_t count) {
  return count < 2 ? "1 node" : std::to_string(count) + " nodes";
}

std::string difference(const envgen::Cluster& before, const envgen::Cluster& now) {
  const auto names_before = names_in(before);
  const auto names_now = names_in(now);
  const std::string gone = missing_in(names_before, names_now);
  const std::string added = missing_in(names_now, names_before);
  std::string text = count_of_nodes(before.nodes.size());
  if (before.nodes.size() != now.nodes.size()) {
    text += " -> " + std::to_string(std::max<std::size_t>(now.nodes.size(), 1));
  }
  if (gone.empty() && added.empty()) {
    const bool moved =
        !std::ranges::equal(before.nodes, now.nodes, {}, &envgen::Node::host, &envgen::Node::host);
    return text + (moved ? ", in another order" : ", not as before");
  }
  text += " (";
  if (!gone.empty()) text += "gone: " + gone;
  if (!gone.empty() && !added.empty()) text += "; ";
  if (!added.empty()) text += "new: " + added;
  return text + ")";
}

LookedAt::FileStamp LookedAt::stamp_of(const std::string& path, bool whole) {
  struct stat status{};
  FileStamp stamp;
  stamp.whole = whole;
  if (::stat(path.c_str(), &status) != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  if (!whole) return stamp;
  stamp.size_bytes = static_cast<std::uint64_t>(status.st_size);
  stamp.modified_ns = ns_of(status.st_mtim);
  stamp.changed_ns = ns_of(status.st_ctim);
  return stamp;
}

bool LookedAt::may_have_changed() {
  FileStamps now;
  for (const auto& [path, stamp] : stamps_) now[path] = stamp_of(path, stamp.whole);
  const bool same = std::exchange(stamps_, now) == now;
  if (same && settled_) return false;
  settled_ = same;
  look_began_ns_ = sys::wall_ms() * kNsPerMs;
  return true;
}

// Compares the stamps from before the look with those from after it. Only the times are not enough:
// during the look, a symlink may have been changed to an old file, whose times look settled.
void LookedAt::seen(const std::map<std::string, envgen::PathState>& paths) {
  FileStamps now;
  for (const auto& [path, state] : paths) {
    const FileStamp stamp = stamp_of(path, has_content(state));
    const std::int64_t newest_ns = std::max(stamp.modified_ns, stamp.changed_ns);
    if (stamp.error == 0 && newest_ns > look_began_ns_ - kTickNs) settled_ = false;
    now[path] = stamp;
  }
  if (std::exchange(stamps_, now) != now) settled_ = false;
}

}  // namespace engine
