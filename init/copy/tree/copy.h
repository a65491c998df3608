#pragma once
// Copies a directory tree, or one file, with several processes. A copy can be killed at any instant
// and continued later.
//
// These are kept: contents, permissions, mtimes, owners (as root), symbolic and hard links, holes,
// empty directories, names of any bytes, paths of any length. Not kept: extended attributes, ACLs,
// atimes, set-ID bits if the owner changes. Devices, FIFOs and sockets are errors. A symbolic link
// that leads out of the source is replaced by a copy of its target.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/progress.h"
#include "init/copy/tree/options.h"

namespace copy {

// Returns the digest and the size of a tree, read by several processes.
base::Result<Scan> scan_tree(const Root& source, const Options& options,
                             const SharedCounters& counters);

// Returns the number of entries of a tree, including its root. Does not call stat() for files.
base::Result<std::uint64_t> count_entries(const Root& tree, const Options& options,
                                          const SharedCounters& counters);

// Makes `tree` a copy of `source`. `tree` can be the unfinished copy of an earlier run. Entries of
// it that are certainly equal (copy_proof.h) are kept. `state_dir`, on the same file system, is the
// scratch space, and gets the file "manifest" (init/copy/manifest.h). The caller must have locked
// both. If the caller dies, the worker processes die too. Fails if the source changes all the time,
// for a special file, or without space or permission. The error names the file and what to do.
base::Result<Scan> run_copy_job(const Root& source, const std::string& tree,
                                const std::string& state_dir, const Options& options,
                                const SharedCounters& counters);

// The parts of a published copy that verify_tree() should check (copy_check.h).
struct CheckScope {
  std::int64_t published_ns = 0;  // files with a later ctime are compared by content
  bool hashed = false;            // the manifest has hashes
  std::string source;             // the source to compare contents with; "" = not available
  bool moved = false;             // the root was renamed: its ctime is ignored
  bool touched = false;           // result: a file had a later ctime, but equal content
};

// Compares `tree` with `manifest`, with several processes: entries, sizes, modes, targets of links,
// and contents if the manifest has hashes. The error names the first difference. With `scope`, the
// contents of a file are read only if it has a later ctime.
base::Status verify_tree(const std::string& tree, const std::string& manifest,
                         const Options& options, const SharedCounters& counters,
                         CheckScope* scope = nullptr);

}  // namespace copy
