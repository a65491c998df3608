#pragma once
// Contents of files: their bytes are copied and compared. Kernel facilities that are not there are
// tried once.

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/content_hash.h"

namespace copy {

// How it ended: with an errno of reading or of writing, or before its end, as the file had become
// shorter.
struct Moved {
  int error = 0;
  bool writing = false;
  bool cut = false;

  [[nodiscard]] bool whole() const { return error == 0 && !cut; }
};

// Bytes [begin, end) of a file that go to the same offset of another one.
struct ByteRange {
  int from = -1;
  int to = -1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class FileCopier {
 public:
  // `moved` counts bytes as they go.
  explicit FileCopier(std::atomic<std::uint64_t>& moved);

  // `hash`, where it is not nullptr, gets what was read.
  Moved move(const ByteRange& range, envgen::ContentHash* hash);
  // Leaves holes where there are some. What it is moved to reads as zeros there already.
  Moved move_data(const ByteRange& range);
  // Whether both are the same; `hash` gets them.
  Moved compare(const ByteRange& range, envgen::ContentHash& hash, bool& same);
  // The hash of what is in `range.to`.
  Moved read_back(const ByteRange& range, envgen::ContentHash& hash);
  // The whole file, in no time, where the file system can share blocks between files.
  bool clone(int from, int to);

 private:
  // As far as the kernel copies it by itself; the rest is for `move`, which knows what fails.
  std::uint64_t move_in_kernel(const ByteRange& range);

  // Of whole pages: what the kernel copies to an address that is none takes half as long again.
  struct Unmap {
    void operator()(char* buffer) const;
  };
  using Buffer = std::unique_ptr<char, Unmap>;
  static Buffer make_buffer();

  Buffer buffer_;
  Buffer other_;
  std::atomic<std::uint64_t>* moved_;
  bool may_clone_ = true;
  bool kernel_moves_ = true;
};

}  // namespace copy
