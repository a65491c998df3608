#pragma once
// The journal of the parts of large files that an unfinished run has written: records in a file
// that is only appended to. One of a part follows its bytes; when a file is begun anew its parts
// count no more.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

inline constexpr std::uint64_t kPartSize = 64ULL << 20U;

// A file that is larger has parts.
inline bool has_parts(std::uint64_t size) { return size > kPartSize; }
inline std::uint64_t parts_of(std::uint64_t size) { return (size + kPartSize - 1) / kPartSize; }

// A state of a file of the source: another one after it was changed.
std::uint64_t state_of(std::string_view path, const struct stat& status);

class Journal {
 public:
  static envgen::Result<Journal> open(const std::string& directory);

  envgen::Status begin(std::uint64_t state);
  envgen::Status add(std::uint64_t state, std::uint64_t part);
  // For each part, whether it is there.
  [[nodiscard]] std::vector<bool> done(std::uint64_t state, std::uint64_t parts) const;

 private:
  explicit Journal(sys::Fd file) : file_(std::move(file)) {}
  sys::Fd file_;
};

}  // namespace copy
