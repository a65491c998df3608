#pragma once
// Copies and compares the contents of files. A call that this kernel or file system does not
// support is tried only once.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/content_hash.h"
#include "envgen/plan/snapshot.h"
#include "init/copy/storage_call.h"

namespace copy {

// How the copying of a range ended: complete, with an errno of reading or of writing, or cut
// because the source has become shorter.
struct Moved {
  int error = 0;
  bool writing = false;
  bool cut = false;
  std::uint64_t end = 0;  // if cut: the end of the source

  [[nodiscard]] bool whole() const { return error == 0 && !cut; }
};

// The bytes [begin, end) of the file `from`, and the same range of the file `to`.
struct ByteRange {
  int from = -1;
  int to = -1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Reads `size` bytes at `at`, or up to the end of the file. Returns their number, or -1 with errno.
ssize_t read_all(int file, char* to, std::uint64_t size, std::uint64_t at);

// Does what read_all() does, for a file that is kept beside a copy. Tries again if its storage
// fails.
ssize_t read_kept(int file, char* to, std::uint64_t size, std::uint64_t at);
envgen::PathState read_kept_file(const std::string& path);

// Returns where in [at, end) of `file` the next data begins; `end` if the rest is a hole. Returns
// `at` on a file system without holes.
std::uint64_t next_data(int file, std::uint64_t at, std::uint64_t end);

class FileCopier {
 public:
  // `moved` counts the copied bytes. `waiting` is as for StorageCall.
  FileCopier(std::atomic<std::uint64_t>& moved, Waiting* waiting);

  // Copies the range. `hash` gets the bytes that were read; nullptr: no hash is computed.
  Moved move(const ByteRange& range, base::ContentHash* hash);
  // Copies only the data of the range, and skips its holes. `to` must already read as zeros there.
  Moved move_data(const ByteRange& range);
  // Sets `same` to whether both files have equal bytes in the range. `hash` gets the bytes. If it
  // is nullptr, holes that both files have are not read.
  Moved compare(const ByteRange& range, base::ContentHash* hash, bool& same);
  // Sets `same` to whether [begin, end) of `range.to` reads as zeros. Holes are not read.
  Moved compare_with_zeros(const ByteRange& range, bool& same);
  // Hashes the range as it is in `range.to`.
  Moved read_back(const ByteRange& range, base::ContentHash& hash);
  // Makes `to` share the blocks of the whole file `from` (FICLONE). Returns false if the file
  // system cannot do that.
  bool clone(int from, int to);

 private:
  // Calls read_all(), and tries again if the storage fails.
  ssize_t read_from(CopySide side, int file, char* to, std::uint64_t size, std::uint64_t at);
  // Copies with copy_file_range and returns the end of what was copied. move() copies the rest and
  // reports errors.
  std::uint64_t move_in_kernel(const ByteRange& range);

  // The deleter of a buffer. Buffers are page-aligned, because for other addresses the kernel takes
  // 1.5 times as long.
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
