#pragma once
// Computes the digest of a tree: a sum over its entries, independent of their order and of the
// processes that read them.

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
  // A sum that includes the ctimes of files, so that a change during the copy is noticed. Inode
  // numbers are left out, because FUSE file systems (s3fs, obsfs) invent new ones when memory is
  // short.
  std::uint64_t change = 0;
  TreeSize size;
};

// Adds an entry to the sums: `path` is below the root ("" is the root itself). For a link, its
// target is added too. `scratch` is a buffer that keeps its memory between calls.
void add_entry(Sums& sums, std::string_view path, const struct stat& status,
               std::string_view target, std::string& scratch);

// The sums of several processes, in memory that they share.
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
