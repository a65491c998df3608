#pragma once
// Copies a directory tree (or one file) with several processes, so that it can be killed at any
// instant and continued, and makes it appear at its place complete or not at all.
//
// Kept: contents, permissions, mtimes, owners (as root), symbolic and hard links, holes, empty
// directories, names of any bytes, paths of any length. Not kept: extended attributes, ACLs,
// atimes, set-ID bits where the owner changes. Refused by name: devices, FIFOs, sockets.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/path_filter.h"
#include "init/copy/progress.h"
#include "init/sys/fd.h"

namespace copy {

struct Standing;

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

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
  // The user that a place is for, where that is another one than ours: see place.h.
  const envgen::Identity* job = nullptr;
  envgen::Headroom headroom;
  std::int64_t deadline_ms = 0;  // sys::monotonic_ms; 0 = none
  // A descriptor with an flock, which every process that writes keeps open: when the caller is
  // killed they live a moment longer, and the next copy must not begin before. -1 = none.
  int lock_fd = -1;
  // Called several times a second while others work: an error ends them.
  std::function<envgen::Status()> keep = {};
  // Called several times a second by the process that called, while others work.
  std::function<void(const Counters&)> report = {};
  // The same while another copy has the place, with its counters; nullptr where they are not there.
  std::function<void(const Counters*)> waiting = {};
  std::function<void(const std::string&)> warn = {};  // a line, of what could not be kept
};

// What of them makes another copy of the same source, as a record has it.
std::string to_text(const Options& options);

// The sum over a tree's entries, whatever their order: path, type, size, mtime, mode, owner, the
// target of a link. Two scans of an unchanged tree are equal.
struct Identity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const Identity&) const = default;
};
std::string to_text(const Identity& identity);  // 32 hexadecimal digits

struct TreeSize {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;      // of the files' contents
  std::uint64_t allocated = 0;  // on the disk: holes are none
};

struct Scan {
  Identity identity;
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

// What a tree holds, by several processes.
envgen::Result<Scan> scan_tree(const Root& source, const Options& options,
                               const SharedCounters& counters);

// Makes `tree`, which is nobody else's and may be what an earlier run left, a copy of `source`.
// `state_dir`, on the same file system, is its scratch space, and gets the manifest ("manifest",
// see init/copy/manifest.h). What is proven of an earlier run is kept. Processes that it starts die
// with the caller; it may be killed at any instant. Errors: the source changes all the time, a
// special file, no space, no permission; each names the file and what to do.
envgen::Result<Scan> fill_tree(const Root& source, const std::string& tree,
                               const std::string& state_dir, const Options& options,
                               const SharedCounters& counters);

// Whether `tree` is what `manifest` says, by several processes: entries, sizes, modes, targets of
// links, and contents where the manifest has their hashes. The error names what is not. For a copy
// that a crash of the machine may have harmed. With `standing` no more than that asks.
envgen::Status verify_tree(const std::string& tree, const std::string& manifest,
                           const Options& options, const SharedCounters& counters,
                           Standing* standing = nullptr);

// How a copy came to its place.
enum class Published : unsigned char {
  kRenamed,    // there was nothing
  kExchanged,  // with the directory that was there; removed where it was a copy of ours
  kReplaced,   // the same by two renames: the file system cannot exchange
  kVersioned,  // it is a mount point: <place>/current is a link to a version below it
  kUnchanged,  // it was there already
};
const char* published_name(Published published);  // "renamed"

struct Copied {
  std::string path;  // where the data is
  Published how = Published::kRenamed;
  TreeSize size;
  TreeSize kept;         // of it, what was there from an earlier run
  std::string replaced;  // where what was at the place is kept; "" = nothing, or a copy of ours
  std::string why;       // what had become of it, where it was one
  sys::Fd lease;         // nobody replaces what is there while this is open
};
// For a person: where what was there before is.
std::string kept_line(const std::string& where, const std::string& why);

// `trainit copy`: a copy of `source` at `place`. The record, the manifest and what is not finished
// lie beside it, in `<parent>/.trainit-copy.<name>` (of a mount point: in `<place>/.trainit-copy`).
// Two at once wait for one another. A copy in use is not replaced: an error.
envgen::Result<Copied> copy_tree(const std::string& source, const std::string& place,
                                 const Options& options);

}  // namespace copy
