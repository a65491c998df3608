#include "init/sys/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

namespace sys {
namespace {

constexpr unsigned kMaxDescriptor = 65536;

bool close_range_of(unsigned first, unsigned last) {
  if (first > last) return true;
#ifdef SYS_close_range
  return ::syscall(SYS_close_range, first, last, 0U) == 0;
#else
  return false;
#endif
}

bool close_by_ranges(unsigned first, std::span<const int> sorted_keep) {
  for (int kept : sorted_keep) {
    if (kept < 0 || static_cast<unsigned>(kept) < first) continue;
    const auto number = static_cast<unsigned>(kept);
    if (number > first && !close_range_of(first, number - 1)) return false;
    first = number + 1;
  }
  return close_range_of(first, ~0U);
}

// Collected before the first is closed: the listing itself holds a descriptor.
bool close_by_proc(int first, std::span<const int> sorted_keep) {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return false;
  std::vector<int> open;
  const int own = ::dirfd(directory);
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const int number = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (number >= first && number != own) open.push_back(number);
  }
  ::closedir(directory);
  for (int number : open) {
    if (!std::ranges::binary_search(sorted_keep, number)) ::close(number);
  }
  return true;
}

void close_by_number(int first, std::span<const int> sorted_keep) {
  rlimit limit{};
  rlim_t end = kMaxDescriptor;
  // A limit of 1e9 is common in containers; counting up to it would take minutes.
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) end = std::min<rlim_t>(limit.rlim_cur, end);
  for (int number = first; static_cast<rlim_t>(number) < end; ++number) {
    if (!std::ranges::binary_search(sorted_keep, number)) ::close(number);
  }
}

}  // namespace

void ensure_standard_fds() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is the one we look at. O_PATH, for an image without /dev/null, answers
    // EBADF to each read and write, as a closed descriptor does.
    if (::open("/dev/null", O_RDWR) < 0 && ::open("/", O_PATH) < 0) return;
  }
}

void close_descriptors(int first, std::span<const int> keep) {
  std::vector<int> sorted(keep.begin(), keep.end());
  std::ranges::sort(sorted);
  if (close_by_ranges(static_cast<unsigned>(first), sorted)) return;
  if (close_by_proc(first, sorted)) return;
  close_by_number(first, sorted);
}

}  // namespace sys
