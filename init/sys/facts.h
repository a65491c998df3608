#pragma once
// The facts of this container, and the run directory.

#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/snapshot.h"
#include "init/sys/fd.h"

namespace sys {

// Returns the working directory; "" if it was deleted or is unknown. For SpawnSpec::cwd, "" means
// that the directory does not change.
std::string working_directory();

// Collects the facts about this container, except run_dir. Uses no name service, which a static
// glibc does not have. cwd is working_directory().
envgen::Facts gather_facts();

// The run directory (RUN_DIR) of this instance of trainit, which holds `lock`. The directory
// contains state.json, control and the files that the plan creates there.
struct RunDir {
  std::string path;  // "": no candidate can be used
  Fd directory;      // descriptor of the run directory
  Fd lock;           // invalid: this instance has no run directory
  // True if another instance has the usual run directory. If `lock` is valid, `path` is then below
  // it.
  bool second = false;
  std::string note;  // why candidates were skipped; "" if the first one was taken
};

// Opens and locks TRAINIT_RUN_DIR, otherwise the first writable of /run/trainit,
// /tmp/trainit-<uid>, /dev/shm/trainit-<uid>. Skips a directory that another user owns or may write
// (/tmp/trainit-0 that another user made). If TRAINIT_RUN_DIR is set, it is the only candidate, and
// the owner root and mode 0777 are accepted too, as an emptyDir volume has them. If another living
// instance has the directory, each further one gets a numbered directory below it: RUN_DIR/2,
// RUN_DIR/3.
RunDir open_run_dir(const base::Environ& env);
// Returns the candidate that is in use, otherwise the one that open_run_dir() would take, or "".
// Creates and locks nothing. Used by plan, status and release.
std::string find_run_dir(const base::Environ& env);
// Returns true if a process holds the lock of `run_dir`. When that process ends, so does the lock.
bool run_dir_in_use(const std::string& run_dir);
// Returns the run directories of all living instances of this user that can be found from `env`.
std::vector<std::string> run_dirs_in_use(const base::Environ& env);

}  // namespace sys
