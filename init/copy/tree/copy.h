#pragma once
// Copies a directory tree (or one file) by several processes. The copy can be killed at any instant
// and continued.
//
// Kept: contents, permissions, mtimes, owners (as root), symbolic and hard links, holes, empty
// directories, names of any bytes, paths of any length. Not kept: extended attributes, ACLs,
// atimes, set-ID bits if the owner changes. Errors: devices, FIFOs, sockets. A symbolic link that
// leads out of the source is replaced by a copy of its target.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/progress.h"
#include "init/copy/tree/options.h"

namespace copy {

// Returns the digest and the size of a tree, by several processes.
base::Result<Scan> scan_tree(const Root& source, const Options& options,
                             const SharedCounters& counters);

// Counts the entries of a tree, with its root, without a stat() of files.
base::Result<std::uint64_t> count_entries(const Root& tree, const Options& options,
                                          const SharedCounters& counters);

// Makes `tree` a copy of `source`. `tree` can be the unfinished copy of an earlier run, whose
// proven entries are kept. `state_dir`, on the same file system, is the scratch space, and gets the
// file "manifest" (init/copy/manifest.h). The caller must have locked both. The worker processes
// die with the caller, at any instant. Errors: the source changes all the time, a special file, no
// space, no permission; each names the file and what to do.
base::Result<Scan> run_copy_job(const Root& source, const std::string& tree,
                                const std::string& state_dir, const Options& options,
                                const SharedCounters& counters);

// The scope of verify_tree() for an integrity check (copy_check.h).
struct CheckScope {
  std::int64_t published_ns = 0;  // files with a later ctime are compared by content
  bool hashed = false;            // the manifest has hashes
  std::string source;             // the source to compare contents with; "" = not available
  bool moved = false;             // the root was renamed: its ctime is ignored
  bool touched = false;  // set by verify_tree(): a file had a later ctime and equal content
};

// Compares `tree` with `manifest`, by several processes: entries, sizes, modes, targets of links,
// and contents for which the manifest has hashes. The error names the first difference. With
// `scope`, only files with a later ctime are read.
base::Status verify_tree(const std::string& tree, const std::string& manifest,
                         const Options& options, const SharedCounters& counters,
                         CheckScope* scope = nullptr);

}  // namespace copy
