#pragma once
// The journal of an unfinished copy: which parts of large files are already written. It is a file
// of records that are only appended. The record of a part is written after its bytes. When the
// copying of a file starts again, its earlier records are void. Parts are stored as ranges, because
// a hole of a petabyte is 16 million parts.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

inline constexpr std::uint64_t kPartSize = 64ULL << 20U;

// Returns whether a file of this size is divided into parts.
inline bool has_parts(std::uint64_t size) { return size > kPartSize; }
inline std::uint64_t parts_of(std::uint64_t size) { return (size + kPartSize - 1) / kPartSize; }

// Returns a number for the state of a file of the source. A changed file has another number.
std::uint64_t state_of(std::string_view path, const struct stat& status);

// The parts first .. last - 1.
struct PartRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// The parts of a file that are complete.
class PartSet {
 public:
  void add(PartRange range);
  void clear() { ranges_.clear(); }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  // Returns the end of the range that contains `part`; `part` itself if no range does.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t part) const;

 private:
  std::vector<PartRange> ranges_;  // disjoint, ascending
};

class Journal {
 public:
  static base::Result<Journal> open(const std::string& directory);

  base::Status begin(std::uint64_t state);
  base::Status add(std::uint64_t state, PartRange parts);
  [[nodiscard]] PartSet done(std::uint64_t state, std::uint64_t parts) const;

 private:
  explicit Journal(sys::Fd file) : file_(std::move(file)) {}
  sys::Fd file_;
};

}  // namespace copy
