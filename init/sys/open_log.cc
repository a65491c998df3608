#include "init/sys/open_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "init/sys/as_user.h"
#include "init/sys/path_state.h"
#include "init/sys/safe_path.h"

namespace sys {
namespace {

constexpr const char* kOpening = "opening the log file";
constexpr const char* kFix =
    "create its directory, make it writable, or choose another log directory";

base::Status no_log(base::Error error) {
  const bool theirs = error.what == kNotOurs || is_foreign_link(error);
  error.what = theirs ? kNotOurs : kOpening;
  if (is_absent(error)) error.fix = kFix;
  return std::unexpected(std::move(error));
}

// Returns whether the path is certainly not a log: not a regular file, or another user's file.
bool is_no_log(const SafePath& reached) {
  struct stat there{};
  if (::fstatat(reached.directory.get(), reached.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  return !S_ISREG(there.st_mode) || (there.st_uid != 0 && there.st_uid != ::geteuid());
}

// Returns whether the directory is sticky. In such a directory, other users may create a second
// name for trainit's file, if protected_hardlinks is 0.
bool is_shared(const SafePath& reached) {
  struct stat status{};
  return ::fstat(reached.directory.get(), &status) == 0 && (status.st_mode & S_ISVTX) != 0;
}

// Checks the opened file. If other users can write to the directory, the file must certainly be the
// log.
base::Status check(const Fd& fd, const SafePath& reached, const std::string& path, bool made) {
  if (!fd.valid()) {
    const int error = errno;
    const bool theirs = !reached.untrusted_directory.empty() && is_no_log(reached);
    const char* fix = error == ELOOP ? "it is a link, and others may write there: remove it"
                      : theirs       ? "others may write there: remove it"
                                     : kFix;
    return base::fail(theirs ? kNotOurs : kOpening, path, errno_text(error), fix);
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return base::fail(kOpening, path, errno_text(errno), kFix);
  const bool doubled = S_ISREG(status.st_mode) && status.st_nlink > 1 && is_shared(reached);
  if (reached.untrusted_directory.empty() && !doubled) return {};
  const bool ours = made || status.st_uid == 0 || status.st_uid == ::geteuid();
  if (S_ISREG(status.st_mode) && status.st_nlink <= 1 && ours) return {};
  const std::string found = !S_ISREG(status.st_mode) ? "no regular file"
                            : status.st_nlink > 1
                                ? "a file with " + std::to_string(status.st_nlink) + " names"
                                : "a file of user " + std::to_string(status.st_uid);
  return base::fail(kNotOurs, path,
                    found + ", in " +
                        (reached.untrusted_directory.empty() ? "a sticky directory"
                                                             : reached.untrusted_directory),
                    "remove it, or choose another log directory");
}

// Opens or creates the file. Sets `made` if this call has created it: it is then trusted, whatever
// owner the file system shows.
int open_or_make(const SafePath& reached, int flags, std::uint32_t mode, bool* made) {
  constexpr int kAttempts = 16;
  const int directory = reached.directory.get();
  const char* name = reached.name.c_str();
  if (!reached.magic) flags |= O_NOFOLLOW;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    int fd = ::openat(directory, name, flags);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::openat(directory, name, flags | O_CREAT | O_EXCL, mode);
    *made = fd >= 0;
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

base::Result<Fd> open_to_append(const std::string& path, std::uint32_t mode,
                                const envgen::Identity* job_user, bool patiently) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC;
  Fd fd;
  auto opened = with_rights_of(job_user, path, {.follow_last = true}, [&](const SafePath& reached) {
    // Does not wait for the reader of a FIFO that the job may have created.
    const bool waits =
        patiently && ::geteuid() == ::getuid() && reached.untrusted_directory.empty();
    bool made = false;
    fd.reset(open_or_make(reached, kFlags | (waits ? 0 : O_NONBLOCK), mode, &made));
    return check(fd, reached, path, made);
  });
  if (!opened) return std::unexpected(no_log(std::move(opened.error())).error());
  if (patiently) ::fcntl(fd.get(), F_SETFL, O_APPEND);
  return fd;
}

base::Result<Fd> open_to_read(const std::string& path, const envgen::Identity* job_user) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd fd;
  auto opened = with_rights_of(job_user, path, {.follow_last = true}, [&](const SafePath& reached) {
    const int flags = reached.magic ? kFlags : kFlags | O_NOFOLLOW;
    fd.reset(::openat(reached.directory.get(), reached.name.c_str(), flags));
    return check(fd, reached, path, false);
  });
  if (!opened) return std::unexpected(no_log(std::move(opened.error())).error());
  return fd;
}

}  // namespace sys
