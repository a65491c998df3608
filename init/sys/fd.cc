#include "init/sys/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "init/sys/clock.h"

namespace sys {
namespace {

constexpr int kMaxDescriptor = 65536;

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

// Returns the open descriptors from `first` on; nullopt without /proc.
std::optional<std::vector<int>> list_descriptors(int first) {
  const Dir directory(::opendir("/proc/self/fd"));
  if (!directory) return std::nullopt;
  std::vector<int> open;
  const int own = ::dirfd(directory.get());
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    const int number = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (number >= first && number != own) open.push_back(number);
  }
  return open;
}

// Reads the whole list before it closes a descriptor, because reading the list uses one itself.
bool close_by_proc(int first, std::span<const int> sorted_keep) {
  const auto open = list_descriptors(first);
  if (!open) return false;
  for (int number : *open) {
    if (!std::ranges::binary_search(sorted_keep, number)) ::close(number);
  }
  return true;
}

// Returns where to stop if all numbers are closed. A limit of 1e9 is common in containers, and
// counting up to it would take minutes.
int count_to() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxDescriptor;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMaxDescriptor));
}

void close_by_number(int first, std::span<const int> sorted_keep) {
  const int end = count_to();
  for (int number = first; number < end; ++number) {
    if (!std::ranges::binary_search(sorted_keep, number)) ::close(number);
  }
}

}  // namespace

bool is_ready(int fd, short events) {
  pollfd ready{fd, events, 0};
  return ::poll(&ready, 1, 0) == 1;
}

bool await_ready(int fd, short events, std::int64_t until_ms) {
  while (true) {
    const std::int64_t left_ms = std::min<std::int64_t>(until_ms - monotonic_ms(), INT_MAX);
    if (left_ms <= 0) return false;
    pollfd ready{fd, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left_ms));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

void ensure_standard_fds() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opens /dev/null, which gets the number `number`, because that is the lowest free one. If the
    // image lacks /dev/null, an O_PATH descriptor takes its place, which fails like a closed one
    // (EBADF).
    if (::open("/dev/null", O_RDWR) < 0 && ::open("/", O_PATH) < 0) return;
  }
}

std::vector<int> open_descriptors(int first) {
  if (auto listed = list_descriptors(first)) return std::move(*listed);
  std::vector<int> open;
  const int end = count_to();
  for (int number = first; number < end; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) open.push_back(number);
  }
  return open;
}

void leave_callers_descriptors() {
  std::array<struct stat, 3> standard{};
  for (int number = 0; number <= 2; ++number) {
    ::fstat(number, &standard.at(static_cast<std::size_t>(number)));
  }
  std::vector<int> ways;
  for (const int number : open_descriptors(0)) {
    const int flags = ::fcntl(number, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::close(number);
    struct stat status{};
    if (flags < 0 || (flags & FD_CLOEXEC) == 0 || ::fstat(number, &status) != 0) continue;
    const bool same = std::ranges::any_of(standard, [&status](const struct stat& one) {
      return one.st_dev == status.st_dev && one.st_ino == status.st_ino;
    });
    if (same) ways.push_back(number);
  }
  ensure_standard_fds();
  // Replaces the descriptors instead of closing them. Otherwise their owner would write to the file
  // that is opened next with the same number.
  for (const int number : ways) ::dup3(STDERR_FILENO, number, O_CLOEXEC);
}

void close_descriptors(int first, std::span<const int> keep) {
  std::vector<int> sorted(keep.begin(), keep.end());
  std::ranges::sort(sorted);
  if (close_by_ranges(static_cast<unsigned>(first), sorted)) return;
  if (close_by_proc(first, sorted)) return;
  close_by_number(first, sorted);
}

}  // namespace sys
