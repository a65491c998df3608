#pragma once
// Options of a copy, and the size and digest that a tree comes to.

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

// To be called several times a second by whoever works at a destination: an error ends the work, as
// the destination is another machine's by now.
using Keep = std::function<envgen::Status()>;

struct Options {
  envgen::PathFilter filter;
  int workers = 0;  // 0 = by the machine
  bool verify = false;
  bool durable = false;
  std::optional<Owner> owner;  // of all that is made; else the source's, as root
  bool shared = false;         // others come to the copy, who need not come to the source
  bool set_ids = true;         // stay where the owner and the group stay; data has no need of them
  // Of an earlier run nothing is trusted: contents are compared. A copy that the machine has been
  // started anew since is always looked at like that.
  bool compare = false;
  // The user that a destination is for, where that is another one than ours: see destination.h.
  const envgen::Identity* job_user = nullptr;
  envgen::Headroom headroom;
  std::int64_t deadline_ms = 0;  // sys::monotonic_ms; 0 = none
  // A descriptor with an flock, which every process that writes keeps open: when the caller is
  // killed they live a moment longer, and the next copy must not begin before. -1 = none.
  int lock_fd = -1;
  // Called while others work: an error ends them.
  Keep keep = {};
  // Called several times a second by the process that called, while others work.
  std::function<void(const Counters&)> report = {};
  // The same while another copy has the destination, with its counters; nullptr where they are not
  // there.
  std::function<void(const Counters*)> waiting = {};
  std::function<void(const std::string&)> warn = {};  // a line, of what could not be kept
};

// What of them makes another copy of the same source, as a record has it.
std::string to_text(const Options& options);

// The sum over a tree's entries, whatever their order: path, type, size, mtime, mode, owner, the
// target of a link. Two scans of an unchanged tree are equal.
struct TreeDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const TreeDigest&) const = default;
};
std::string to_text(const TreeDigest& digest);  // 32 hexadecimal digits

struct TreeSize {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;      // of the files' contents
  std::uint64_t allocated = 0;  // on the disk: holes are none
};

struct Scan {
  TreeDigest digest;
  TreeSize size;
};

// What is copied: a directory or, where `only` is set, the one file of that name in it; the
// directory itself does not count then, nor do patterns.
struct Root {
  std::string path;
  std::string only = "";
};
// Of an absolute path with its links resolved.
Root root_of(const std::string& path, bool directory);
// Of a copy, which is on a local file system.
Root root_of_copy(const std::string& path);

}  // namespace copy
