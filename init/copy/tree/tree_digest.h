#pragma once
// The digest of a tree: a sum over its entries, whatever their order and whoever met them.

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "init/copy/tree/options.h"

namespace copy {

struct Sums {
  TreeDigest digest;
  // Also of what only a change moves: ctime. Not the inode: FUSE makes up another one when memory
  // is short (s3fs, obsfs), and a file in another's place has another ctime.
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

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t to_ns(const timespec& time) {
  return (std::int64_t{time.tv_sec} * kNsPerSecond) + time.tv_nsec;
}

}  // namespace copy
