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

// A function to be called several times a second while working at a destination. If it fails,
// another machine has taken the destination, and the work must end.
using Keep = std::function<base::Status()>;

struct Options {
  PathFilter filter;
  int workers = 0;  // number of processes; 0 = chosen by the load, up to 64
  bool verify = false;
  bool durable = false;
  bool dry_run = false;        // for scan_tree(): gives the warnings that a copy would give
  std::optional<Owner> owner;  // owner of all copied entries; nullopt: for root that of the source,
                               // otherwise this user
  bool shared = false;         // users that cannot reach the source will be able to reach the copy
  bool set_ids = true;  // set-ID bits are kept if owner and group are; false for datasets, which
                        // need none
  // Compares the contents of what an earlier run copied. This is always done if the machine has
  // booted since that run.
  bool compare = false;
  // The user for whom the copy is made; nullptr: this process's user. See destination.h.
  const envgen::Identity* job_user = nullptr;
  envgen::Headroom headroom;
  std::int64_t deadline_ms = 0;  // time at which the copy fails (sys::monotonic_ms); 0 = none
  // A descriptor with an flock that every writing process keeps open; -1 = none. These processes
  // can outlive a killed caller for a moment, and the next copy must not begin before they have
  // ended.
  int lock_fd = -1;
  // Called while the workers run. Its error ends them.
  Keep keep = {};
  // Called several times a second in the calling process, while the workers run.
  std::function<void(const Counters&)> report = {};
  // Called while this copy waits for another copy to the same destination. The argument is the
  // counters of that copy; nullptr: unknown.
  std::function<void(const Counters*)> waiting = {};
  std::function<void(const std::string&)> warn = {};  // called with each warning, one line
};

// Returns the options that change the content of a copy, as text for the record.
std::string to_text(const Options& options);

// A sum over the entries of a tree, independent of their order: path, type, mode, owner, the size
// and mtime of a file, the target of a link. Two scans of an unchanged tree have equal digests.
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

// The root of a tree: a directory. If `only` is set, the tree is just the file of that name in the
// directory, and filter patterns do not apply.
struct Root {
  std::string path;
  std::string only = "";
};
// Makes a Root from an absolute path without symlinks.
Root root_of(const std::string& path, bool directory);
// Makes the Root of a copy. Calls stat(), so the copy must be on a local file system.
Root root_of_copy(const std::string& path);

}  // namespace copy
