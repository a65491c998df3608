#pragma once
// One process of a copy: what it knows, what it has open, and what it has gathered. Private to the
// files of this folder that do the work.

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/copy/copy_proof.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/directory.h"
#include "init/copy/tree/journal.h"
#include "init/copy/tree/manifest_file.h"
#include "init/copy/tree/options.h"
#include "init/copy/tree/pool_load.h"
#include "init/copy/tree/tree_digest.h"
#include "init/copy/tree/work_list.h"
#include "init/copy/tree/worker_pool.h"

namespace copy {

inline constexpr std::size_t kNoted = 5;

struct Standing;

// In memory that all processes of a copy share.
struct SharedHeader {
  WorkState work;
  FailureSlot failure;
  SharedSums sums;
  std::atomic<bool> unstable;   // the source changed under a process
  std::atomic<bool> full;       // there is no room left, or less than is to stay free
  std::atomic<bool> cached;     // what is read again may not be what the disk has
  std::atomic<bool> no_links;   // the target's file system has no hard links
  std::atomic<bool> no_owners;  // it, or the kernel, does not let us give files away
  std::atomic<bool> touched;    // see standing.h
  std::atomic<bool> closed;     // not everybody may read the names of all that is copied
  std::atomic<std::uint32_t> noted;
  std::array<std::array<char, 1024>, kNoted> changed;  // paths for the error, each ended by a NUL
};

// What is to be done, the same for all.
struct CopyJob {
  std::string source;  // a directory
  std::string only;    // of it, see Root; "" = all of it
  std::string tree;    // a directory; "" = there is none: the source is only looked at
  std::string state;   // a directory
  const Options* options = nullptr;
  Counters* counters = nullptr;
  SharedHeader* header = nullptr;
  Journal* journal = nullptr;
  const Standing* standing = nullptr;  // verify_tree: no more than this is asked
  envgen::ProofRules rules;
  bool compare = false;   // what is there is proven by its contents
  bool finalize = false;  // look whether the source is what was copied, and finish directories
  bool counts = false;    // of that no more than how many entries there are
};

// Entries between two looks at who has nothing to do, and between two updates of the counters.
inline constexpr std::size_t kLook = 32;

// What of a directory is not begun.
struct Rest {
  std::string directory;  // below the root
  bool fresh = false;     // the copy's was empty
  std::span<const Name> names;
};

struct Worker {
  Worker(const CopyJob& what, WorkList& work, int index);

  const CopyJob& job;
  WorkList& list;
  int number;
  uid_t uid;
  gid_t gid;
  sys::Fd source;  // O_PATH
  // See foreign_source.h: the entries in hand are read as the job's user; all of the source is.
  bool foreign = false;
  bool foreign_way = false;
  std::uint64_t looked_at = 0;   // the mount
  bool written_nowhere = false;  // what it shows
  sys::Fd tree;
  struct stat tree_status{};
  sys::Fd links;  // see links.h
  sys::Fd trash;
  Sums sums;
  TreeSize told;  // of these, what the counters have
  DirectoryReader reader;
  std::vector<Name> names;
  Rest rest;
  std::string path;  // of the entry in hand, below the root
  std::string scratch;
  std::string target;
  std::string acl = std::string(4096, '\0');  // the attribute of a file
  std::optional<dev_t> no_acls;               // a file system that has none
  FileCopier copier;
  OwnWaits waits;  // while it copies a large file
  ManifestFile manifest;
  int read_flags = O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
};

// A directory of both trees, while its entries are done.
struct DirectoryPair {
  int from = -1;
  int to = -1;
  bool fresh = false;           // the copy's was empty
  bool inherits_group = false;  // what is made in it does not have our group
};

// A path below a root, for messages.
std::string shown(const std::string& root, const std::string& path);

// The errno of opening what was there a moment ago: it is not any more, or is something else.
bool is_gone(int error);

// The item's failure, with what the errno means for whoever reads it.
std::unexpected<envgen::Error> cannot_read(const Worker& worker, int error);
std::unexpected<envgen::Error> cannot_write(const Worker& worker, int error);

// Somebody changed the source under us: what it was before is no copy of it now.
void note_change(Worker& worker);
// It may have been this one, if it was one.
void name_change(Worker& worker);

// Adds what a look found since the last time to the counters: not with each entry, as all processes
// would wait for the same bytes of memory.
void tell_found(Worker& worker);

// Gives half of what is left of the directory in hand, if it is so many, to each who has nothing to
// do.
envgen::Status share_rest(Worker& worker, std::size_t least);

}  // namespace copy
