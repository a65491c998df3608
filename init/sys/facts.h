#pragma once
// The facts of this container, and the run directory.

#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/snapshot.h"
#include "init/sys/fd.h"

namespace sys {

// "" when it was deleted or cannot be told, which SpawnSpec::cwd takes as "stay".
std::string working_directory();

// Facts without run_dir. No name service: a static glibc has none. cwd is working_directory().
envgen::Facts gather_facts();

// RUN_DIR holds state.json, control and what the plan moves there, for the one instance that holds
// `lock`.
struct RunDir {
  std::string path;  // "" when none is usable
  Fd directory;      // itself
  Fd lock;           // invalid: no directory for this instance
  bool second =
      false;  // another instance has the run directory; `path` is below it if `lock` is valid
  std::string note;  // why a candidate was passed over; "" when the first one was taken
};

// TRAINIT_RUN_DIR, else the first writable of /run/trainit, /tmp/trainit-<uid>,
// /dev/shm/trainit-<uid>. A directory that another user owns or may write is passed over (somebody
// else's /tmp/trainit-0). TRAINIT_RUN_DIR is the only candidate when it is set, and there an owner
// root and a mode of 0777 are accepted too: an emptyDir volume looks so. Below a directory that
// another living instance has, each further one has a directory by its number: RUN_DIR/2,
// RUN_DIR/3.
RunDir open_run_dir(const envgen::Environ& env);
// The same choice without creating or locking anything, for plan, status and release: the candidate
// that is in use, else the one that open_run_dir() would take; "" when there is none.
std::string find_run_dir(const envgen::Environ& env);
// True while some process holds the lock of `run_dir`, which dies with its holder.
bool run_dir_in_use(const std::string& run_dir);
// The directories of all instances of this user that live and that `env` leads to.
std::vector<std::string> run_dirs_in_use(const envgen::Environ& env);

}  // namespace sys
