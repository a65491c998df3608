#pragma once
// The probe of a destination's file system, once a copy. Many file systems round or drop the
// attributes that a copy sets, and still report success: ext4 with small inodes, FAT, SMB, FUSE. A
// file system that lacks what a copy needs is an error before the first byte.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/tree/options.h"

namespace copy {

struct KeptAttributes {
  std::int64_t time_step_ns = 1;  // step of mtimes; 0 = an mtime that is set is not kept
  bool wide_dates = true;         // mtimes of 1970 and of 2100 are kept
  bool late_times = false;        // an mtime changes when the file has been closed
  bool modes = true;
  bool owners = true;        // whether root can change an owner; false = a chown changes nothing
  bool case_folded = false;  // names that differ in case only are one name
  Owner owner;               // owner of what trainit makes there
  bool sizes = true;         // a file has the size of what was written to it
  int rename_error = 0;      // the errno of the rename of a directory

  [[nodiscard]] bool keeps(std::int64_t mtime_ns) const;
  // Returns why `state` is no place for a copy, of one file or of a directory.
  [[nodiscard]] base::Status check_usable(const std::string& state, bool directory) const;
  // Returns the limits for a warning, each with the name of the file system of `state`.
  [[nodiscard]] std::vector<std::string> losses(const std::string& state) const;
};

// Learns them by a file in the state directory, which is removed.
KeptAttributes probe_destination(const std::string& state);

}  // namespace copy
