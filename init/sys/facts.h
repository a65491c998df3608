#pragma once
// The facts of this container, and the run directory.

#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/snapshot.h"
#include "init/sys/fd.h"

namespace sys {

// Returns the working directory; "" if it was deleted or is unknown. SpawnSpec::cwd takes "" as
// "stay".
std::string working_directory();

// Collects the facts except run_dir. Uses no name service: a static glibc does not have it. cwd is
// working_directory().
envgen::Facts gather_facts();

// The run directory (RUN_DIR) of the one instance that holds `lock`. The directory contains
// state.json, control and the files that the plan moves there.
struct RunDir {
  std::string path;  // "": no candidate is usable
  Fd directory;      // the open run directory
  Fd lock;           // invalid: this instance has no directory
  // True if another instance has the run directory; `path` is below it if `lock` is valid.
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
// Returns whether a process holds the lock of `run_dir`. The lock ends with its holder.
bool run_dir_in_use(const std::string& run_dir);
// Returns the run directories of all living instances of this user that `env` leads to.
std::vector<std::string> run_dirs_in_use(const base::Environ& env);

}  // namespace sys
