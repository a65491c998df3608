#include "init/copy/tree/tree_digest.h"

#include <array>

#include "base/content_hash.h"

namespace copy {
namespace {

constexpr std::uint64_t kHighSeed = 0x7472'6169'6e69'7401;
constexpr std::uint64_t kLowSeed = 0x7472'6169'6e69'7402;
constexpr std::uint64_t kBlock = 512;  // st_blocks counts blocks of this size

template <class T>
std::string_view bytes_of(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

}  // namespace

void add_entry(Sums& sums, std::string_view path, const struct stat& status,
               std::string_view target, std::string& scratch) {
  const bool file = S_ISREG(status.st_mode);
  const std::uint64_t size = file ? static_cast<std::uint64_t>(status.st_size) : 0;
  // The times of directories are left out. They may be those of the mount (mountpoint-s3, goofys,
  // gcsfuse). An entry that is added or deleted changes the sum anyway.
  const auto time_of = [file](const timespec& time) {
    return file ? static_cast<std::uint64_t>(to_ns(time)) : 0;
  };
  const std::array<std::uint64_t, 4> kept = {size, time_of(status.st_mtim), status.st_mode,
                                             (std::uint64_t{status.st_uid} << 32U) | status.st_gid};
  scratch.assign(bytes_of(kept));
  scratch += target;
  scratch += '\0';
  scratch += path;
  const std::uint64_t high = base::hash_of(scratch, kHighSeed);
  sums.digest.high += high;
  sums.digest.low += base::hash_of(scratch, kLowSeed);
  const std::array<std::uint64_t, 2> moving = {time_of(status.st_ctim), status.st_dev};
  sums.change += base::hash_of(bytes_of(moving), high);
  ++sums.size.entries;
  sums.size.bytes += size;
  // A file without blocks is a hole (finalize.cc), or its file system does not count blocks (FUSE).
  const auto blocks = static_cast<std::uint64_t>(status.st_blocks);
  sums.size.allocated += blocks == 0 ? size : blocks * kBlock;
}

void SharedSums::clear() {
  for (auto* sum : {&high_, &low_, &change_, &entries_, &bytes_, &allocated_}) sum->store(0);
}

void SharedSums::add(const Sums& sums) {
  high_ += sums.digest.high;
  low_ += sums.digest.low;
  change_ += sums.change;
  entries_ += sums.size.entries;
  bytes_ += sums.size.bytes;
  allocated_ += sums.size.allocated;
}

Sums SharedSums::value() const {
  return {.digest = {.high = high_, .low = low_},
          .change = change_,
          .size = {.entries = entries_, .bytes = bytes_, .allocated = allocated_}};
}

}  // namespace copy
