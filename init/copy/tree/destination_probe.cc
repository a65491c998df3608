#include "init/copy/tree/destination_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "init/copy/copy_proof.h"
#include "init/copy/tree/tree_digest.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

// The seconds are odd, because FAT stores only even ones.
constexpr timespec kDate{.tv_sec = 1'000'000'001, .tv_nsec = 123'456'789};
constexpr std::array<timespec, 2> kTimes = {kDate, kDate};

bool shows_date(const struct stat& status) {
  return is_rounding_of(to_ns(kDate), to_ns(status.st_mtim));
}

std::string step_text(std::int64_t ns) {
  constexpr std::int64_t kMicrosecond = 1000;
  if (ns >= kNsPerSecond) return std::to_string(ns / kNsPerSecond) + "s";
  if (ns >= kMicrosecond) return std::to_string(ns / kMicrosecond) + "us";
  return std::to_string(ns) + "ns";
}

std::string file_system_at(const std::string& state) {
  const sys::Fd place(::open(state.c_str(), O_PATH | O_CLOEXEC));
  return "its file system (" + sys::file_system_of(place.get()) + ")";
}

// Returns the errno of renaming a directory, which a publication does; 0 if that works.
int rename_error_at(const std::string& path) {
  const std::string moved = path + ".moved";
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return 0;
  const int error = ::rename(path.c_str(), moved.c_str()) == 0 ? 0 : errno;
  ::rmdir(path.c_str());
  ::rmdir(moved.c_str());
  return error;
}

}  // namespace

KeptAttributes probe_destination(const std::string& state) {
  constexpr mode_t kMode = 0640;
  constexpr uid_t kOther = 1;
  KeptAttributes kept;
  kept.owner = {::geteuid(), ::getegid()};
  const std::string path = state + "/probe";
  std::ignore = ::remove(path.c_str());
  sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR));
  struct stat status{};
  const auto look = [&] { return ::fstat(file.get(), &status) == 0; };
  // If no file can be made, the copy itself will report why.
  if (!file.valid() || ::write(file.get(), "", 1) != 1 || !look()) return kept;
  kept.owners = kept.owner.uid != 0 || ::fchown(file.get(), kOther, kOther) != 0 || !look() ||
                status.st_uid == kOther;
  std::ignore = ::fchown(file.get(), kept.owner.uid, kept.owner.gid);
  kept.modes = ::fchmod(file.get(), kMode) == 0 && look() && (status.st_mode & 07777U) == kMode;
  const bool set = ::futimens(file.get(), kTimes.data()) == 0 && look() && shows_date(status);
  file.reset();
  kept.sizes = ::lstat(path.c_str(), &status) != 0 || status.st_size == 1;
  const auto look_again = [&] { return ::lstat(path.c_str(), &status) == 0 && shows_date(status); };
  kept.late_times = set && !look_again();
  if (!set || (kept.late_times &&
               (::utimensat(AT_FDCWD, path.c_str(), kTimes.data(), 0) != 0 || !look_again()))) {
    kept.time_step_ns = 0;
  } else {
    kept.time_step_ns = time_step_of(to_ns(kDate), to_ns(status.st_mtim));
  }
  kept.owner = {status.st_uid, status.st_gid};
  for (const time_t second : {time_t{86'400}, time_t{4'102'444'800}}) {
    const timespec date{.tv_sec = second, .tv_nsec = 0};
    const std::array<timespec, 2> times = {date, date};
    kept.wide_dates = kept.wide_dates &&
                      ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0 &&
                      ::lstat(path.c_str(), &status) == 0 && to_ns(status.st_mtim) == to_ns(date);
  }
  kept.case_folded = ::access((state + "/PROBE").c_str(), F_OK) == 0;
  ::unlink(path.c_str());
  kept.rename_error = rename_error_at(path);
  return kept;
}

bool KeptAttributes::keeps(std::int64_t mtime_ns) const {
  return time_step_ns != 0 && (wide_dates || !is_wide_date(mtime_ns));
}

base::Status KeptAttributes::check_usable(const std::string& state, bool directory) const {
  std::string found;
  if (!sizes) found = " shows other sizes than files have: readers would get other contents";
  if (rename_error != 0 && directory) {
    found = " does not rename directories: " + sys::errno_text(rename_error);
  }
  if (found.empty()) return {};
  return base::fail("writing a copy", state, file_system_at(state) + found, "name another place");
}

std::vector<std::string> KeptAttributes::losses(const std::string& state) const {
  std::vector<std::string> lines;
  const bool whose = owner.uid == ::geteuid();
  if (time_step_ns == 1 && modes && owners && whose) return lines;
  const std::string begin = file_system_at(state) + " keeps ";
  if (!owners || !whose) {
    lines.push_back(begin + "no owners: all that is made there is user " +
                    std::to_string(owner.uid) + "'s");
  }
  if (time_step_ns == 0) {
    lines.push_back(begin + "no mtimes: changes of the copy are found by its ctimes only");
  } else if (time_step_ns > 1) {
    lines.push_back(begin + "mtimes in steps of " + step_text(time_step_ns) +
                    ", comparing them in these");
  }
  if (!modes) {
    lines.push_back(begin + "no permissions: who may use the copy is up to how it is mounted");
  }
  return lines;
}

}  // namespace copy
