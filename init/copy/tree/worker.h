#pragma once
// The state of one worker process of a copy. Private to the files of this folder.

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
#include "init/copy/file_times.h"
#include "init/copy/storage_call.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/destination_probe.h"
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

struct CheckScope;

// The symbolic links that were treated alike.
struct LinkNote {
  std::atomic<std::uint32_t> count;
  std::array<char, 1024> first;  // the path of the first link, NUL-terminated
};

// The memory that all processes of a copy share.
struct SharedHeader {
  WorkState work;
  FailureSlot failure;
  SharedSums sums;
  std::array<Waiting, kMaxWorkers> waiting;
  std::atomic<bool> unstable;       // the source changed under a process
  std::atomic<bool> full;           // no room is left beyond the headroom
  std::atomic<bool> cached;         // reads may come from the page cache, not from the disk
  std::atomic<bool> no_links;       // the target's file system has no hard links
  std::atomic<bool> no_owners;      // the target's file system, or the kernel, refuses chown
  std::atomic<bool> touched;        // see copy_check.h
  std::atomic<bool> times_made_up;  // mtimes, see file_times.h
  std::atomic<bool> closed;         // some users cannot list all directories of the source
  KeptAttributes kept;  // what the tree's file system keeps; set before the workers start
  LinkNote followed;
  LinkNote left;
  std::atomic<bool> lost_found;  // lost+found was skipped
  std::atomic<std::uint32_t> noted;
  std::array<std::array<char, 1024>, kNoted> changed;  // paths for the error, NUL-terminated
};

// The task, which is the same for all workers.
struct CopyJob {
  std::string source;  // a directory
  std::string only;    // the only file to copy, see Root; "" = all
  std::string tree;    // a directory; "" = the source is only scanned
  std::string state;   // a directory
  const Options* options = nullptr;
  Counters* counters = nullptr;
  SharedHeader* header = nullptr;
  Journal* journal = nullptr;
  const CheckScope* scope = nullptr;  // scope of verify_tree(); nullptr: everything is read
  ProofRules rules;
  bool compare = false;   // existing files are compared by content
  bool finalize = false;  // compares the source with what was copied, and finishes directories
  bool names = false;     // finds the names of entries that changed in the source
  bool counts = false;    // only counts entries
};

// The number of entries between two checks for idle workers, and between two updates of counters.
inline constexpr std::size_t kLook = 32;

// The entries of a directory that no worker has begun.
struct Rest {
  std::string directory;  // path below the root
  bool fresh = false;     // the copy's directory was empty
  std::span<const Name> names;
};

struct Worker {
  Worker(const CopyJob& what, WorkList& work, int index);

  const CopyJob& job;
  Waiting* waiting;
  WorkList& list;
  int number;
  uid_t uid;
  gid_t gid;
  sys::Fd source;  // O_PATH
  // The current entries, or the whole source, are read as the job's user; see foreign_source.h.
  bool foreign = false;
  bool foreign_way = false;
  // The target of the current link and the user that reads it; whether the current entry lies in
  // such a target. See source_links.h.
  std::string linked;
  std::optional<envgen::Identity> link_reader;
  bool in_linked = false;
  ino_t opened = 0;              // the current file or directory of the source
  std::uint64_t looked_at = 0;   // the mount that was checked last
  bool written_nowhere = false;  // no mount of its file system is writable
  sys::Fd tree;
  struct stat tree_status{};
  sys::Fd links;  // see links.h
  std::string link_key;
  TimesOfDevice times;
  std::optional<std::uint64_t> cut_at;  // the source's end, if it lies before the current range
  sys::Fd trash;
  Sums sums;
  TreeSize counted;  // the part of `sums` that the counters contain
  DirectoryReader reader;
  std::vector<Name> names;
  Rest rest;
  std::string path;  // path of the current entry, below the root
  std::string scratch;
  std::string target;
  std::string acl = std::string(4096, '\0');  // the attribute of a file
  std::optional<dev_t> no_acls;               // a file system without ACLs
  std::optional<dev_t> failing_acls;          // a file system whose storage fails for each ACL
  std::optional<dev_t> no_blocks;             // a file system that does not count blocks
  FileCopier copier;
  OwnWaits waits;  // during the copy of a large file
  ManifestFile manifest;
  int read_flags = O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
};

// A directory of the source and its copy, while a worker processes the entries.
struct DirectoryPair {
  int from = -1;
  int to = -1;
  bool fresh = false;           // the copy's directory was empty
  bool inherits_group = false;  // new entries get the directory's group
};

// Calls lstat() for an entry of the source, or for `directory` itself if `name` is "". False with
// errno.
bool stat_in_source(const Worker& worker, int directory, const char* name, struct stat& status);

// Calls settle_times() for a file of the source.
void settle_source(Worker& worker, int directory, const char* name, struct stat& status);

// The directory of fsck for files without a name. Each new ext4 has it, readable by root only.
inline constexpr const char* kLostFound = "lost+found";

// Counts a link, and keeps the first one's path.
void note_link(Worker& worker, LinkNote& note);

// Returns a path below a root, for messages.
std::string shown(const std::string& root, const std::string& path);

// Returns whether this errno of open() means that the entry was removed or replaced.
bool is_gone(int error);

// Make the error of the current entry, with the advice for this errno.
std::unexpected<base::Error> cannot_read(const Worker& worker, int error);
std::unexpected<base::Error> cannot_write(const Worker& worker, int error);

// Notes that the current entry of the source changed during the copy.
void note_change(Worker& worker);
// Notes the path of the current entry, which may have changed.
void name_change(Worker& worker);

// Adds new entries of `sums` to the shared counters. Not called for each entry, as all processes
// would contend for one cache line.
void update_counters(Worker& worker);

// Gives half of the remaining entries of the current directory, if they are at least `least`, to
// each idle worker.
base::Status share_rest(Worker& worker, std::size_t least);

}  // namespace copy
