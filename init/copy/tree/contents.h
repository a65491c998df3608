#pragma once
// Copies and compares the contents of files. Each facility that the kernel lacks is tried once.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/content_hash.h"
#include "envgen/plan/snapshot.h"
#include "init/copy/storage_call.h"

namespace copy {

// The end of a copied range: complete, an errno of reading or of writing, or cut because the file
// has become shorter.
struct Moved {
  int error = 0;
  bool writing = false;
  bool cut = false;
  std::uint64_t end = 0;  // if cut: the file's end

  [[nodiscard]] bool whole() const { return error == 0 && !cut; }
};

// Bytes [begin, end) of the file `from` that belong at the same offset of the file `to`.
struct ByteRange {
  int from = -1;
  int to = -1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Reads `size` bytes at `at`, or up to the end of the file. Returns their number, or -1 with errno.
ssize_t read_all(int file, char* to, std::uint64_t size, std::uint64_t at);

// Read a file that is kept beside a copy, and try again if its storage fails.
ssize_t read_kept(int file, char* to, std::uint64_t size, std::uint64_t at);
envgen::PathState read_kept_file(const std::string& path);

// Returns where in [at, end) of `file` the next data begins; `end` if there is only a hole. On a
// file system without holes this is `at`.
std::uint64_t next_data(int file, std::uint64_t at, std::uint64_t end);

class FileCopier {
 public:
  // `moved`: a counter of copied bytes. `waiting`: as for StorageCall.
  FileCopier(std::atomic<std::uint64_t>& moved, Waiting* waiting);

  // Copies the range. `hash` gets what was read; nullptr: none is wanted.
  Moved move(const ByteRange& range, base::ContentHash* hash);
  // Copies the range's data and skips holes. The target must read as zeros already.
  Moved move_data(const ByteRange& range);
  // Sets `same` to whether both files have equal bytes. `hash` gets them; nullptr: none is wanted,
  // and holes of both files are not read.
  Moved compare(const ByteRange& range, base::ContentHash* hash, bool& same);
  // Sets `same` to whether [begin, end) of `range.to` reads as zeros. Holes are not read.
  Moved compare_with_zeros(const ByteRange& range, bool& same);
  // Hashes the range of `range.to`.
  Moved read_back(const ByteRange& range, base::ContentHash& hash);
  // Shares the blocks of the whole file (FICLONE). False: the file system cannot.
  bool clone(int from, int to);

 private:
  // Calls read_all(), and tries again if the storage fails.
  ssize_t read_from(CopySide side, int file, char* to, std::uint64_t size, std::uint64_t at);
  // Returns the end of what copy_file_range copied. move() copies the rest and reports errors.
  std::uint64_t move_in_kernel(const ByteRange& range);

  // Page-aligned: the kernel takes 1.5 times as long for other addresses.
  struct Free {
    void operator()(char* buffer) const;
  };
  using Buffer = std::unique_ptr<char, Free>;
  static Buffer make_buffer();

  Buffer buffer_;
  Buffer other_;
  std::atomic<std::uint64_t>* moved_;
  Waiting* waiting_;
  bool may_clone_ = true;
  bool kernel_moves_ = true;
};

}  // namespace copy
