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

// The facts for a warning about symlinks of one kind: their number and the first path.
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
  std::atomic<bool> unstable;       // a process has seen the source change
  std::atomic<bool> full;           // only the headroom is left on the file system
  std::atomic<bool> cached;         // reads may have come from the page cache instead of the disk
  std::atomic<bool> no_links;       // the target's file system has no hard links
  std::atomic<bool> no_owners;      // the target's file system, or the kernel, refuses chown
  std::atomic<bool> touched;        // value of CheckScope::touched
  std::atomic<bool> times_made_up;  // the mtimes of the source are invented, see file_times.h
  std::atomic<bool> closed;         // some users cannot list all directories of the source
  KeptAttributes kept;  // what the tree's file system keeps; set before the workers start
  LinkNote followed;
  LinkNote left;
  std::atomic<bool> lost_found;  // a directory lost+found was skipped
  std::atomic<std::uint32_t> noted;
  std::array<std::array<char, 1024>, kNoted> changed;  // paths of changed entries for the error,
                                                       // NUL-terminated
};

// The task, which all workers have in common.
struct CopyJob {
  std::string source;  // directory to read
  std::string only;    // the only file to copy, see Root; "" = all
  std::string tree;    // directory to write; "" = the source is only scanned
  std::string state;   // state directory
  const Options* options = nullptr;
  Counters* counters = nullptr;
  SharedHeader* header = nullptr;
  Journal* journal = nullptr;
  const CheckScope* scope = nullptr;  // scope of verify_tree(); nullptr: everything is read
  ProofRules rules;
  bool compare = false;   // compares existing files by content
  bool finalize = false;  // the last pass (finalize.h): compares the source with the copy, and
                          // finishes directories
  bool names = false;     // finds the names of entries of the source that changed
  bool counts = false;    // only counts entries
};

// Number of entries after which a worker checks for idle workers, and updates the shared counters.
inline constexpr std::size_t kLook = 32;

// The entries of the current directory that no worker has taken yet.
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
  sys::Fd source;  // O_PATH descriptor of the source
  // True if the current entries, or the whole source, are read as the job's user
  // (foreign_source.h).
  bool foreign = false;
  bool foreign_way = false;
  // For a link that leads out of the source (source_links.h): its target, the user that may read
  // the target, and whether the current entry lies in such a target.
  std::string linked;
  std::optional<envgen::Identity> link_reader;
  bool in_linked = false;
  ino_t opened = 0;              // inode of the source's file or directory that is open now
  std::uint64_t looked_at = 0;   // id of the mount for which `written_nowhere` was determined
  bool written_nowhere = false;  // no mount of that mount's file system is writable
  sys::Fd tree;
  struct stat tree_status{};
  sys::Fd links;  // directory of links.h
  std::string link_key;
  TimesOfDevice times;
  std::optional<std::uint64_t> cut_at;  // end of the source file, if it became shorter than the
                                        // current range
  sys::Fd trash;
  Sums sums;
  TreeSize counted;  // the part of `sums` that has been added to the shared counters
  DirectoryReader reader;
  std::vector<Name> names;
  Rest rest;
  std::string path;  // path of the current entry, below the root
  std::string scratch;
  std::string target;
  std::string acl = std::string(4096, '\0');  // buffer for the access control list of a file
  std::optional<dev_t> no_acls;               // a file system that has no ACLs
  std::optional<dev_t> failing_acls;  // a file system whose storage fails whenever an ACL is read
  std::optional<dev_t> no_blocks;     // a file system that does not count the blocks of files
  FileCopier copier;
  OwnWaits waits;  // measured during the copy of a large file
  ManifestFile manifest;
  int read_flags = O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
};

// A directory of the source and its copy, whose entries a worker processes.
struct DirectoryPair {
  int from = -1;
  int to = -1;
  bool fresh = false;           // the copy's directory was empty
  bool inherits_group = false;  // new entries get the group of the directory
};

// Calls lstat() for an entry of the source, or for `directory` itself if `name` is "". Returns
// false on failure, with errno.
bool stat_in_source(const Worker& worker, int directory, const char* name, struct stat& status);

// Calls settle_times() for a file of the source.
void settle_source(Worker& worker, int directory, const char* name, struct stat& status);

// A directory that fsck uses for files without a name. Each new ext4 has it, readable only by root,
// so it is skipped.
inline constexpr const char* kLostFound = "lost+found";

// Counts a link in `note`, and keeps the path of the first one.
void note_link(Worker& worker, LinkNote& note);

// Returns the path of an entry for messages: `root` joined with `path`.
std::string shown(const std::string& root, const std::string& path);

// Returns whether this errno of open() means that the entry was removed or replaced.
bool is_gone(int error);

// Make the error of the current entry, with the advice for this errno.
std::unexpected<base::Error> cannot_read(const Worker& worker, int error);
std::unexpected<base::Error> cannot_write(const Worker& worker, int error);

// Records that the current entry of the source changed during the copy.
void note_change(Worker& worker);
// Records the path of the current entry, which may have changed, for the error.
void name_change(Worker& worker);

// Adds to the shared counters what is new in `sums`. Not called for each entry, because all
// processes would then contend for one cache line.
void update_counters(Worker& worker);

// Gives half of the rest of the current directory to each idle worker, if the rest has at least
// `least` entries.
base::Status share_rest(Worker& worker, std::size_t least);

}  // namespace copy
