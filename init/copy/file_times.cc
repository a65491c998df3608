#include "init/copy/file_times.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace copy {
namespace {

// The mtime that replaces an invented one: 1980-01-01, the first day that all archive formats can
// store.
constexpr timespec kMadeUpMtime{.tv_sec = 315'532'800, .tv_nsec = 0};
// The ctime that replaces an invented one. It is later than the begin of any copy, so a file with
// it is never proven to be unchanged.
constexpr timespec kMadeUpCtime{.tv_sec = time_t{1} << 33U, .tv_nsec = 0};
// A time younger than this may be invented at each stat(). The kernel usually keeps the attributes
// of FUSE for a second.
constexpr std::int64_t kYoungNs = 2'000'000'000;

bool is_young(const timespec& time) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = to_ns(now) - to_ns(time);
  return age < kYoungNs && age > -kYoungNs;
}

bool is_any_young(const struct stat& status) {
  return is_young(status.st_mtim) || is_young(status.st_ctim);
}

timespec time_of(const struct statx_timestamp& time) {
  return {.tv_sec = time.tv_sec, .tv_nsec = static_cast<long>(time.tv_nsec)};
}

// Reads the times again, and makes the kernel ask the file system if it can. Otherwise the kernel
// may answer from its own cache.
bool look_again(int directory, const char* name, struct stat& status) {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  struct statx asked{};
  constexpr unsigned kWanted = STATX_MTIME | STATX_CTIME | STATX_SIZE;
  if (::statx(directory, name, kFlags | AT_STATX_FORCE_SYNC, kWanted, &asked) != 0) {
    return ::fstatat(directory, name, &status, kFlags) == 0;
  }
  status.st_mtim = time_of(asked.stx_mtime);
  status.st_ctim = time_of(asked.stx_ctime);
  status.st_size = static_cast<off_t>(asked.stx_size);
  return true;
}

bool same(const timespec& left, const timespec& right) { return to_ns(left) == to_ns(right); }

bool has_other_times(const struct stat& before, const struct stat& now) {
  return before.st_size == now.st_size &&
         !(same(before.st_mtim, now.st_mtim) && same(before.st_ctim, now.st_ctim));
}

// Returns a descriptor that becomes readable when a program of this machine writes to the file or
// sets its times. The times then change because of that program, and need not be invented.
sys::Fd watch_of(int directory, const char* name) {
  sys::Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  std::string path = "/proc/self/fd/" + std::to_string(directory);
  std::uint32_t events = IN_MODIFY | IN_ATTRIB;
  if (*name != '\0') {
    path += "/";
    path += name;
    events |= IN_DONT_FOLLOW;
  }
  if (watch.valid() && ::inotify_add_watch(watch.get(), path.c_str(), events) < 0) watch.reset();
  return watch;
}

bool is_new_at_each_look(int directory, const char* name, struct stat before) {
  constexpr int kTickMs = 12;
  constexpr int kSecondMs = 1'010;
  const bool young = is_any_young(before);
  struct stat now = before;
  if (!look_again(directory, name, now)) return false;
  bool moved = has_other_times(before, now);
  if (!moved && !young) return false;
  const sys::Fd watch = watch_of(directory, name);
  if (!watch.valid()) return false;
  const bool whole_seconds = !moved && before.st_mtim.tv_nsec == 0 && before.st_ctim.tv_nsec == 0;
  for (int left = whole_seconds ? 1 : 3; left > 0; --left) {
    before = now;
    sys::sleep_ms(whole_seconds ? kSecondMs : kTickMs);
    if (!look_again(directory, name, now) || !has_other_times(before, now)) return false;
  }
  return !sys::is_ready(watch.get(), POLLIN);
}

}  // namespace

bool settle_times(TimesOfDevice& known, int directory, const char* name, struct stat& status) {
  if (!S_ISREG(status.st_mode)) return false;
  if (known.device != status.st_dev) known = {.device = status.st_dev};
  if (!known.made_up) {
    const bool young = is_any_young(status);
    if (known.looked && (known.looked_young || !young)) return false;
    known.made_up = is_new_at_each_look(directory, name, status);
    known.looked = true;
    known.looked_young = known.looked_young || young;
    if (!known.made_up) return false;
  }
  struct stat now = status;
  std::ignore = look_again(directory, name, now);
  const bool mtime = !same(now.st_mtim, status.st_mtim) || is_young(status.st_mtim);
  const bool ctime = !same(now.st_ctim, status.st_ctim) || is_young(status.st_ctim);
  if (mtime) status.st_mtim = kMadeUpMtime;
  if (mtime || ctime) status.st_ctim = kMadeUpCtime;
  return mtime;
}

bool is_time_made_up(const struct stat& status) { return same(status.st_ctim, kMadeUpCtime); }

}  // namespace copy
