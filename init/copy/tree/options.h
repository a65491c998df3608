#pragma once
// Options of a copy, and the size and the digest of a tree.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/path_filter.h"
#include "init/copy/progress.h"

namespace copy {

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// A function that the process working at a destination calls several times a second. An error ends
// the work: another machine has taken the destination.
using Keep = std::function<base::Status()>;

struct Options {
  PathFilter filter;
  int workers = 0;  // 0 = chosen by load, up to 64
  bool verify = false;
  bool durable = false;
  bool dry_run = false;  // scan_tree() warns of what a copy would warn of
  std::optional<Owner>
      owner;            // owner of all entries; nullopt: for root the source's, otherwise this user
  bool shared = false;  // users that cannot reach the source can reach the copy
  bool set_ids = true;  // set-ID bits are kept with owner and group; datasets need none
  // Compares what an earlier run copied by its contents. A copy is always compared if the machine
  // has booted since that run.
  bool compare = false;
  // The user that a destination is for; nullptr: this process's. See destination.h.
  const envgen::Identity* job_user = nullptr;
  envgen::Headroom headroom;
  std::int64_t deadline_ms = 0;  // sys::monotonic_ms; 0 = none
  // A descriptor with an flock, which every writing process keeps open: these processes outlive a
  // killed caller for a moment, and the next copy must not begin before they end. -1 = none.
  int lock_fd = -1;
  // Called while the workers run: an error ends them.
  Keep keep = {};
  // Called several times a second in the calling process, while the workers run.
  std::function<void(const Counters&)> report = {};
  // Called while this copy waits for another one at the same destination, with the other one's
  // counters; nullptr: unknown.
  std::function<void(const Counters*)> waiting = {};
  std::function<void(const std::string&)> warn = {};  // called with a line
};

// Returns the options that change a copy's content, as a text for the record.
std::string to_text(const Options& options);

// A sum over a tree's entries in any order: path, type, mode, owner, a file's size and mtime, a
// link's target. Two scans of an unchanged tree have equal digests.
struct TreeDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const TreeDigest&) const = default;
};
std::string to_text(const TreeDigest& digest);  // 32 hexadecimal digits

struct TreeSize {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;      // sum of the files' sizes
  std::uint64_t allocated = 0;  // size on the disk, without holes
};

struct Scan {
  TreeDigest digest;
  TreeSize size;
};

// The root of a tree: a directory. If `only` is set, the tree is the file of that name in it;
// patterns do not apply then.
struct Root {
  std::string path;
  std::string only = "";
};
// Makes the root of an absolute path with resolved links.
Root root_of(const std::string& path, bool directory);
// Makes the root of a copy, by stat(): the copy must be on a local file system.
Root root_of_copy(const std::string& path);

}  // namespace copy
