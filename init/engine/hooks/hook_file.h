#pragma once
// The file of one hook for its exports; $TRAINIT_ENV is its path. Each hook gets its own empty
// file. So text that a daemon of an earlier hook still appends is not taken for this hook's.

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "init/sys/fd.h"

namespace engine {

class HookFile {
 public:
  // Creates the file in RUN_DIR, named after the event. If `run_dir` is "" or the file cannot be
  // created there, uses a memfd with its path in /proc, which works on a read-only root too.
  // Without /proc, creates the file in /tmp or /dev/shm. Returns an Error if all of these fail.
  static base::Result<HookFile> make(const std::string& run_dir, std::string_view event);

  HookFile(HookFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), memory_(std::move(other.memory_)) {}
  HookFile& operator=(HookFile&&) = delete;
  ~HookFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns the content of the file that is at path() now, which the hook may have replaced. Reads
  // at most a little more than kMaxExportBytes, and never waits for a FIFO. Returns "" if the file
  // was removed.
  [[nodiscard]] base::Result<std::string> read() const;

 private:
  HookFile(std::string path, sys::Fd memory) : path_(std::move(path)), memory_(std::move(memory)) {}

  std::string path_;  // "" after a move
  sys::Fd memory_;    // the memfd; not valid: the file is at path_, and the destructor deletes it
};

}  // namespace engine
