#include "init/tee/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "init/sys/as_user.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/open_log.h"
#include "init/sys/safe_path.h"

namespace logtee {
namespace {

constexpr mode_t kMode = 0644;
constexpr std::int64_t kRetryMs = 1000;

}  // namespace

LogFile::LogFile(std::string path, LogRule rule) : path_(std::move(path)), rule_(rule) {}

std::string LogFile::open() {
  if (fd_.valid()) return {};
  // Opens without waiting for the reader of a FIFO or for a terminal.
  auto opened = sys::open_to_append(path_, kMode, rule_.job_user);
  if (!opened) return to_line(opened.error());
  fd_ = std::move(*opened);
  struct stat status{};
  // A file that is not regular, such as /dev/null, has no size that could be limited.
  if (::fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) rotates_ = false;
  size_ = S_ISREG(status.st_mode) ? status.st_size : 0;
  return {};
}

void LogFile::write(std::string_view bytes, std::int64_t now_ms) {
  if (retry_ms_ != 0 && (now_ms < retry_ms_ || !try_again(now_ms))) return count_lost(bytes);
  if (const std::string why = open(); !why.empty()) return give_up(bytes, why, now_ms);
  while (!bytes.empty() && retry_ms_ == 0) {
    std::size_t part = bytes.size();
    if (rule_.max_bytes > 0 && rotates_) {
      const std::int64_t room = rule_.max_bytes - size_;
      if (std::cmp_greater(bytes.size(), room)) {
        // Cut at the end of a line if possible.
        const std::size_t most = room > 0 ? static_cast<std::size_t>(room) : 0;
        part = bytes.substr(0, most).rfind('\n') + 1;
        if (part == 0 && !(at_line_start_ && size_ > 0)) part = most;
        append(bytes.substr(0, part), now_ms);
        bytes.remove_prefix(part);
        if (retry_ms_ == 0) rotate(now_ms);
        continue;
      }
    }
    append(bytes.substr(0, part), now_ms);
    bytes.remove_prefix(part);
  }
  count_lost(bytes);
}

void LogFile::count_lost(std::string_view bytes) {
  lost_ += bytes.size();
  unsaid_ += bytes.size();
  if (rule_.lost_count != nullptr) rule_.lost_count->add(bytes);
}

std::size_t LogFile::write_all(std::string_view bytes) {
  const std::size_t done = sys::write_all(fd_.get(), bytes);
  size_ += static_cast<std::int64_t>(done);
  if (done > 0) at_line_start_ = bytes[done - 1] == '\n';
  return done;
}

void LogFile::append(std::string_view bytes, std::int64_t now_ms) {
  const std::size_t done = write_all(bytes);
  if (done == bytes.size()) return;
  const int error = errno;
  // Closes the file: after an outage of its file system, the open descriptor may stay unusable.
  if (error != ENOSPC && error != EDQUOT) fd_.reset();
  give_up(bytes.substr(done), "writing the log file: " + path_ + ": " + sys::errno_text(error),
          now_ms);
}

void LogFile::give_up(std::string_view bytes, const std::string& why, std::int64_t now_ms) {
  if (retry_ms_ == 0) {
    sys::log::warning(why + "; what does not fit is lost there, and the job goes on");
  }
  count_lost(bytes);
  retry_ms_ = now_ms + kRetryMs;
}

// Tries to write again. Writes the note about the missing bytes first: if that does not fit,
// nothing fits.
bool LogFile::try_again(std::int64_t now_ms) {
  retry_ms_ = now_ms + kRetryMs;
  if (!open().empty()) return false;
  const std::string note = (at_line_start_ ? "" : "\n") + std::string("trainit: ") +
                           std::to_string(unsaid_) + " bytes of output could not be written here\n";
  if (write_all(note) < note.size()) return false;
  sys::log::info("the log file " + path_ + " can be written again; it lacks " +
                 std::to_string(unsaid_) + " bytes");
  unsaid_ = 0;
  retry_ms_ = 0;
  return true;
}

void LogFile::say_lost() const {
  if (unsaid_ == 0) return;
  sys::log::warning("the log file " + path_ + " lacks the last " + std::to_string(unsaid_) +
                    " bytes");
}

base::Status LogFile::move_away() const {
  struct stat ours{};
  if (::fstat(fd_.get(), &ours) != 0) return {};
  return sys::with_rights_of(
      rule_.job_user, path_, {.follow_last = true}, [&](const sys::SafePath& at) {
        const int directory = at.directory.get();
        auto name = [&at](int number) {
          return number == 0 ? at.name : at.name + "." + std::to_string(number);
        };
        auto failed = [this](int error) -> base::Status {
          return base::fail("beginning a new log file", path_, sys::errno_text(error), "");
        };
        struct stat there{};
        // The file was already replaced or deleted, so nothing has to be moved aside.
        if (::fstatat(directory, at.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
            there.st_dev != ours.st_dev || there.st_ino != ours.st_ino) {
          return base::Status();
        }
        if (rule_.keep == 0) {
          return ::unlinkat(directory, at.name.c_str(), 0) == 0 ? base::Status() : failed(errno);
        }
        for (int i = rule_.keep - 1; i >= 0; --i) {
          const std::string to = name(i + 1);
          const bool another = !at.untrusted_directory.empty() &&
                               ::fstatat(directory, to.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                               !sys::is_ours(there.st_uid);
          if (another) return failed(EPERM);
          const bool moved = ::renameat(directory, name(i).c_str(), directory, to.c_str()) == 0;
          if (!moved && (i == 0 || errno != ENOENT)) return failed(errno);
        }
        return base::Status();
      });
}

void LogFile::rotate(std::int64_t now_ms) {
  if (size_ == 0) return;
  if (const auto moved = move_away(); !moved) {
    sys::log::warning(to_line(moved.error()) + ", so it grows beyond --log-max-size");
    rotates_ = false;
    return;
  }
  fd_.reset();
  if (const std::string why = open(); !why.empty()) give_up({}, why, now_ms);
}

}  // namespace logtee
