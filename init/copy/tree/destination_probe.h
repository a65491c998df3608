#pragma once
// Finds out, once for each copy, what the destination's file system can store. Many file systems
// round or drop the attributes that a copy sets, and still report success: ext4 with small inodes,
// FAT, SMB, FUSE. If a file system lacks something that a copy needs, the copy fails before the
// first byte.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/tree/options.h"

namespace copy {

struct KeptAttributes {
  std::int64_t time_step_ns = 1;  // step to which mtimes are rounded; 0 = an mtime is not kept
  bool wide_dates = true;         // mtimes of 1970 and of 2100 are kept
  bool late_times = false;        // the mtime of a file changes after the file is closed
  bool modes = true;
  bool owners = true;        // root can change owners; false = chown has no effect
  bool case_folded = false;  // names that differ only in case are the same name
  Owner owner;               // owner of files that trainit creates there
  bool sizes = true;         // the size of a file is that of what was written to it
  int rename_error = 0;      // errno of renaming a directory; 0 = renaming works

  [[nodiscard]] bool keeps(std::int64_t mtime_ns) const;
  // Fails if the file system of the directory `state` is unsuitable for a copy: of a directory, or
  // of one file.
  [[nodiscard]] base::Status check_usable(const std::string& state, bool directory) const;
  // Returns warnings about what the file system of `state` does not keep. Each names the file
  // system.
  [[nodiscard]] std::vector<std::string> losses(const std::string& state) const;
};

// Finds out the attributes with a file in the state directory, which is deleted afterwards.
KeptAttributes probe_destination(const std::string& state);

}  // namespace copy
