#pragma once
// A copy of a directory tree (or one file) by several processes, which can be killed at any instant
// and continued.
//
// Kept: contents, permissions, mtimes, owners (as root), symbolic and hard links, holes, empty
// directories, names of any bytes, paths of any length. Not kept: extended attributes, ACLs,
// atimes, set-ID bits where the owner changes. Refused by name: devices, FIFOs, sockets.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/progress.h"
#include "init/copy/tree/options.h"

namespace copy {

// What a tree holds, by several processes.
envgen::Result<Scan> scan_tree(const Root& source, const Options& options,
                               const SharedCounters& counters);

// How many entries it holds, with its root. Of files it asks nothing but their names.
envgen::Result<std::uint64_t> count_entries(const Root& tree, const Options& options,
                                            const SharedCounters& counters);

// Makes `tree`, which is nobody else's and may be what an earlier run left, a copy of `source`.
// `state_dir`, on the same file system, is its scratch space, and gets the manifest ("manifest",
// see init/copy/manifest.h). What is proven of an earlier run is kept. Processes that it starts die
// with the caller; it may be killed at any instant. Errors: the source changes all the time, a
// special file, no space, no permission; each names the file and what to do.
envgen::Result<Scan> run_copy_job(const Root& source, const std::string& tree,
                                  const std::string& state_dir, const Options& options,
                                  const SharedCounters& counters);

// What verify_tree is to ask.
struct Standing {
  std::int64_t published_ns = 0;
  bool hashed = false;
  std::string source;    // "" = not to be asked
  bool moved = false;    // the root was renamed since: its ctime says nothing
  bool touched = false;  // the answer: something was, and its bytes are what they were
};

// Whether `tree` is what `manifest` says, by several processes: entries, sizes, modes, targets of
// links, and contents where the manifest has their hashes. The error names what is not. For a copy
// that a crash of the machine may have harmed. With `standing` no more than that asks.
envgen::Status verify_tree(const std::string& tree, const std::string& manifest,
                           const Options& options, const SharedCounters& counters,
                           Standing* standing = nullptr);

}  // namespace copy
