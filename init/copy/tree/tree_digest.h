#pragma once
// The digest of a tree: a sum over its entries, independent of their order and of the processes
// that read them.

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "init/copy/file_times.h"
#include "init/copy/tree/options.h"

namespace copy {

struct Sums {
  TreeDigest digest;
  // A sum that includes the ctime of files, to notice changes during a copy. Inode numbers are left
  // out: FUSE file systems (s3fs, obsfs) invent new ones when memory is short.
  std::uint64_t change = 0;
  TreeSize size;
};

// Adds an entry: its path below the root ("" is the root itself) and, of a link, its target.
// `scratch` keeps its memory between calls.
void add_entry(Sums& sums, std::string_view path, const struct stat& status,
               std::string_view target, std::string& scratch);

// The sums of several processes, in shared memory.
class SharedSums {
 public:
  void clear();
  void add(const Sums& sums);
  [[nodiscard]] Sums value() const;

 private:
  std::atomic<std::uint64_t> high_;
  std::atomic<std::uint64_t> low_;
  std::atomic<std::uint64_t> change_;
  std::atomic<std::uint64_t> entries_;
  std::atomic<std::uint64_t> bytes_;
  std::atomic<std::uint64_t> allocated_;
};

}  // namespace copy
