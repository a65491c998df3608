#pragma once
// The file in $TRAINIT_ENV of one hook. Each hook gets its own empty file, so that text which a
// daemon of an earlier hook appends is not taken for this hook's.

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "init/sys/fd.h"

namespace engine {

class HookFile {
 public:
  // Creates the file in RUN_DIR, named after the event. If `run_dir` is "" or takes no file, the
  // file is a memfd, reached by its path in /proc. A memfd works on a read-only root too. Without
  // /proc it is a file in /tmp or /dev/shm. Returns an Error if all of these fail.
  static base::Result<HookFile> make(const std::string& run_dir, std::string_view event);

  HookFile(HookFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), memory_(std::move(other.memory_)) {}
  HookFile& operator=(HookFile&&) = delete;
  ~HookFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns the current content of the file at the path: an editor may have replaced the file.
  // Reads little more than engine::kMaxExportBytes, and never waits for a FIFO. Returns "" if the
  // file was removed.
  [[nodiscard]] base::Result<std::string> read() const;

 private:
  HookFile(std::string path, sys::Fd memory) : path_(std::move(path)), memory_(std::move(memory)) {}

  std::string path_;  // "" after a move
  sys::Fd memory_;    // not valid: a file at path_, which the destructor deletes
};

}  // namespace engine
