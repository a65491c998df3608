#include "init/engine/tasks/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::uint32_t kRemoved = 1;
constexpr std::uint32_t kMaxMessageBytes = 64U << 10;
constexpr std::int64_t kPeriodMs = 5000;
// Time limit of the child: enough to remove a million files.
constexpr std::int64_t kLookMs = 60'000;
constexpr std::uint64_t kMaxBytes = 64U << 20;
constexpr std::uint64_t kMaxFiles = 16'384;
constexpr std::uint64_t kShare = 4;  // a quarter of the file system
constexpr std::uint64_t kBlock = 512;
constexpr int kMaxDepth = 16;

struct Entry {
  std::size_t directory = 0;  // index in the list of directories
  std::string name;
  std::uint64_t bytes = 0;  // size of the entry with everything below it
  std::uint64_t files = 0;
  std::int64_t changed_ns = 0;
};

// A file of the job's user that was deleted in a directory of the job, but that a process holds
// open.
struct OpenFile {
  sys::Fd held;  // O_PATH
  ino_t inode = 0;
  std::uint64_t bytes = 0;
  std::string directory;
};

using Visit = std::function<void(const char* name)>;

void each_name(sys::Fd directory, const Visit& visit) {
  if (!directory.valid()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::fdopendir(directory.get()), ::closedir);
  if (!opened) return;
  std::ignore = directory.release();
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
}

class Bound {
 public:
  Bound(const std::vector<std::string>& directories, JobFilesLimit limit)
      : directories_(directories), limit_(limit) {}

  void look();
  // Truncates deleted files that processes of the job hold open, if these and the named files
  // together exceed the limit.
  void look_for_open_files();
  [[nodiscard]] std::string text() const;

 private:
  void add(std::size_t directory, int fd, const char* name);
  void measure(int fd, const char* name, int depth, Entry& entry);
  sys::Fd open_directory(int fd, const char* name);
  void remove_until(const std::function<bool()>& enough);
  void remove(const Entry& entry);
  void each_open_file(const std::function<void(const OpenFile&)>& visit) const;
  [[nodiscard]] std::optional<OpenFile> open_file(const std::string& link) const;

  const std::vector<std::string>& directories_;
  JobFilesLimit limit_;
  std::vector<Entry> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
  std::string first_;  // directory of the first removal
  std::uint64_t removed_bytes_ = 0;
  std::uint64_t removed_files_ = 0;
};

sys::Fd Bound::open_directory(int fd, const char* name) {
  constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  sys::Fd opened(::openat(fd, name, kOpen));
  if (opened.valid() || errno != EACCES) return opened;
  // The job may have removed its own read permission, so add it again.
  if (::fchmodat(fd, name, S_IRWXU, 0) == 0) opened.reset(::openat(fd, name, kOpen));
  return opened;
}

void Bound::measure(int fd, const char* name, int depth, Entry& entry) {
  struct stat status{};
  if (::fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (depth == 0) entry.changed_ns = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  entry.bytes += static_cast<std::uint64_t>(status.st_blocks) * kBlock;
  ++entry.files;
  if (!S_ISDIR(status.st_mode) || entry.files > limit_.files) return;
  // No file that belongs here is this deep, so the entry counts as too large.
  if (depth == kMaxDepth) {
    entry.files = limit_.files + 1;
    return;
  }
  sys::Fd below = open_directory(fd, name);
  const int inside = below.get();
  each_name(std::move(below), [&](const char* one) {
    if (entry.files <= limit_.files) measure(inside, one, depth + 1, entry);
  });
}

void Bound::add(std::size_t directory, int fd, const char* name) {
  Entry entry{.directory = directory, .name = name};
  measure(fd, name, 0, entry);
  bytes_ += entry.bytes;
  files_ += entry.files;
  // If there are too many entries for the memory, further ones are removed at once.
  if (entries_.size() < 2 * kMaxFiles) return entries_.push_back(std::move(entry));
  remove(entry);
}

void Bound::remove(const Entry& entry) {
  const std::string& directory = directories_[entry.directory];
  sys::SafePath place;
  place.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  place.name = entry.name;
  if (!place.directory.valid() || !sys::remove_tree(place, directory + "/" + entry.name)) return;
  bytes_ -= entry.bytes;
  files_ -= entry.files;
  removed_bytes_ += entry.bytes;
  removed_files_ += entry.files;
  if (first_.empty()) first_ = directory;
}

void Bound::remove_until(const std::function<bool()>& enough) {
  std::size_t next = 0;
  for (; next < entries_.size() && !enough(); ++next) remove(entries_[next]);
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(next));
}

void Bound::look() {
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    sys::Fd directory = open_directory(AT_FDCWD, directories_[i].c_str());
    const int fd = directory.get();
    each_name(std::move(directory), [&](const char* name) { add(i, fd, name); });
  }
  // Remove down to half of the limit, so that the next looks find room.
  if (bytes_ > limit_.bytes) {
    base::stable_sort(entries_, std::greater(), &Entry::bytes);
    remove_until([this] { return bytes_ <= limit_.bytes / 2; });
  }
  if (files_ > limit_.files) {
    base::stable_sort(entries_, std::greater(), &Entry::changed_ns);
    remove_until([this] { return files_ <= limit_.files / 2; });
  }
}

std::optional<OpenFile> Bound::open_file(const std::string& link) const {
  constexpr std::string_view kDeleted = " (deleted)";
  // Open the file first, and examine what was opened: the process may reuse the descriptor's number
  // for a different file.
  OpenFile found{.held = sys::Fd(::open(link.c_str(), O_PATH | O_CLOEXEC)), .directory = ""};
  const int held = found.held.get();
  const std::string own = "/proc/self/fd/" + std::to_string(held);
  std::string path(PATH_MAX, '\0');
  const ssize_t size = held >= 0 ? ::readlink(own.c_str(), path.data(), path.size()) : 0;
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (!path.ends_with(kDeleted)) return std::nullopt;
  const auto above = std::ranges::find_if(directories_, [&path](const std::string& directory) {
    return path.starts_with(directory + "/");
  });
  struct stat file{};
  struct stat directory{};
  const bool known = above != directories_.end() && ::fstat(held, &file) == 0 &&
                     ::stat(above->c_str(), &directory) == 0;
  // A process of the job may have another user's file open, which must not be truncated.
  if (!known || file.st_uid != ::geteuid() || !S_ISREG(file.st_mode) || file.st_nlink != 0 ||
      file.st_blocks == 0 || file.st_dev != directory.st_dev) {
    return std::nullopt;
  }
  found.inode = file.st_ino;
  found.bytes = static_cast<std::uint64_t>(file.st_blocks) * kBlock;
  found.directory = *above;
  return found;
}

// Calls `visit` for each deleted file that a process holds open, once per file.
void Bound::each_open_file(const std::function<void(const OpenFile&)>& visit) const {
  std::set<ino_t> seen;
  each_name(sys::Fd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), [&](const char* pid) {
    if (!base::parse_count<int>(pid)) return;
    const std::string files = "/proc/" + std::string(pid) + "/fd";
    sys::Fd directory(::open(files.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    each_name(std::move(directory), [&](const char* fd) {
      const auto found = open_file(files + "/" + fd);
      if (found && seen.insert(found->inode).second) visit(*found);
    });
  });
}

void Bound::look_for_open_files() {
  std::uint64_t bytes = bytes_;
  each_open_file([&bytes](const OpenFile& file) { bytes += file.bytes; });
  if (bytes <= limit_.bytes) return;
  each_open_file([this](const OpenFile& file) {
    const std::string own = "/proc/self/fd/" + std::to_string(file.held.get());
    const sys::Fd opened(::open(own.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (!opened.valid() || ::ftruncate(opened.get(), 0) != 0) return;
    removed_bytes_ += file.bytes;
    ++removed_files_;
    if (first_.empty()) first_ = file.directory;
  });
}

std::string Bound::text() const {
  if (removed_files_ == 0) return "";
  return "removed " + std::to_string(removed_files_) + " files (" +
         base::size_text(removed_bytes_) + ") of the job from " + first_ + ": it kept more than " +
         base::size_text(limit_.bytes) + " or " + std::to_string(limit_.files) +
         " files there; let the job write to a directory of its own";
}

// Returns true if less than a quarter of the file system of `directory` is free.
bool is_short(const std::string& directory) {
  struct statvfs status{};
  return ::statvfs(directory.c_str(), &status) == 0 &&
         (status.f_bavail < status.f_blocks / kShare || status.f_favail < status.f_files / kShare);
}

}  // namespace

JobFilesLimit job_files_limit(const std::string& directory) {
  JobFilesLimit limit{.bytes = kMaxBytes, .files = kMaxFiles};
  struct statvfs status{};
  if (::statvfs(directory.c_str(), &status) != 0) return limit;
  const std::uint64_t size = status.f_blocks * status.f_frsize;
  if (size > 0) limit.bytes = std::min(limit.bytes, size / kShare);
  if (status.f_files > 0)
    limit.files = std::min<std::uint64_t>(limit.files, status.f_files / kShare);
  return limit;
}

std::string bound_job_files(const std::vector<std::string>& directories, JobFilesLimit limit,
                            const std::optional<envgen::Identity>& job) {
  if (directories.empty()) return "";
  // Use only the job's rights. The job may have moved a directory with other users' files here, or
  // mounted such a directory in its own namespace.
  std::optional<sys::AsUser> as_job;
  if (!sys::take_rights(job, as_job)) return "";
  Bound bound(directories, limit);
  bound.look();
  if (is_short(directories.front())) bound.look_for_open_files();
  return bound.text();
}

JobFiles::JobFiles(const WorkerContext& context)
    : ChildWorker(kRemoved, kMaxMessageBytes), context_(context) {}

void JobFiles::stepped() {
  const Job& job = context_.job;
  const bool wanted = !job.plan.observe.job_directories.empty() && !main_pids(job).empty();
  if (!wanted) next_look_ms_.reset();
  if (wanted && !next_look_ms_) next_look_ms_ = sys::monotonic_ms() + kPeriodMs;
}

std::optional<std::int64_t> JobFiles::deadline_ms() const {
  const auto own = ChildWorker::deadline_ms();
  if (!own || !next_look_ms_) return own ? own : next_look_ms_;
  return std::min(*own, *next_look_ms_);
}

void JobFiles::tend(std::int64_t now_ms) {
  ChildWorker::tend(now_ms);
  if (!next_look_ms_ || now_ms < *next_look_ms_) return;
  next_look_ms_ = now_ms + kPeriodMs;
  // The previous child still runs: it hangs in the kernel, or has much to remove.
  if (pid() != 0) return;
  const Job& job = context_.job;
  auto status = fork("looking at the job's files", context_.saved, [&job](int fd) {
    const auto& directories = job.plan.observe.job_directories;
    const std::string text = bound_job_files(directories, job_files_limit(directories.front()),
                                             job.plan.sandbox.identity);
    return text.empty() || send_message(fd, kRemoved, text) ? 0 : 1;
  });
  if (status) deadline_ms_ = now_ms + kLookMs;
  if (status) context_.job.helpers.push_back(pid());  // the sweep for orphans must not signal it
  if (!status) sys::log::debug(to_line(status.error()) + ", ignoring");
}

ChildWorker::Heard JobFiles::on_message(std::uint32_t /*kind*/, std::string_view text) {
  if (!std::exchange(told_, true)) sys::log::warning(text);
  context_.note_change();  // write the state again, which may have failed for lack of space
  return Heard::kLast;
}

}  // namespace engine
