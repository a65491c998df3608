#pragma once
// The file in $TRAINIT_ENV of one hook: an empty one for each, so that what a daemon of an earlier
// hook appends is not taken for this one's.

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "init/sys/fd.h"

namespace engine {

class HookFile {
 public:
  // In RUN_DIR, by the event's name. Without one (""), or where it takes no file, it has no place
  // in any directory: a memfd by its path in /proc, which works on a read-only root too; without
  // /proc a file in /tmp or /dev/shm. An Error where all of that fails.
  static envgen::Result<HookFile> make(const std::string& run_dir, std::string_view event);

  HookFile(HookFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), memory_(std::move(other.memory_)) {}
  HookFile& operator=(HookFile&&) = delete;
  ~HookFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // What is there now, by the path: an editor replaces a file. Reads little more than
  // envgen::kMaxExportBytes, and never waits for a FIFO. A file that was removed is an empty one.
  [[nodiscard]] envgen::Result<std::string> read() const;

 private:
  HookFile(std::string path, sys::Fd memory) : path_(std::move(path)), memory_(std::move(memory)) {}

  std::string path_;  // "" when moved from
  sys::Fd memory_;    // not valid: a file at path_, which goes with this
};

}  // namespace engine
