#include "init/engine/monitor/follow.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "init/sys/open_log.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

constexpr std::size_t kPieceBytes = 256U << 10;
// If more was appended than this, read() skips a part.
constexpr std::int64_t kMaxBytes = 64LL << 20;
// If more than kMaxBytes was appended, read() handles only this many bytes at the end.
constexpr std::int64_t kKeptBytes = 1LL << 20;

}  // namespace

FileFollower::FileFollower(std::string path, const envgen::Identity* job_user)
    : path_(std::move(path)), job_(job_user) {
  open_at(true);
}

void FileFollower::open_at(bool end) {
  // Only a regular file is a log; a FIFO or a device is not read.
  file_.reset();
  if (auto opened = sys::open_to_read(path_, job_)) file_ = std::move(*opened);
  struct stat status{};
  if (!file_.valid() || ::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return file_.reset();
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  offset_ = end ? status.st_size : 0;
}

void FileFollower::read(const Sink& sink) {
  if (file_.valid()) read_open(sink);
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return;
  if (file_.valid() && status.st_dev == device_ && status.st_ino == inode_) return;
  sink.gap();
  open_at(false);
  if (file_.valid()) read_open(sink);
}

void FileFollower::read_open(const Sink& sink) {
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return;
  if (status.st_size < offset_) {
    sink.gap();
    offset_ = 0;
  }
  if (status.st_size - offset_ > kMaxBytes) {
    sink.gap();
    offset_ = status.st_size - kKeptBytes;
  }
  std::vector<char> piece(kPieceBytes);
  for (std::int64_t left = kMaxBytes; left > 0;) {
    const ssize_t count = ::pread(file_.get(), piece.data(), piece.size(), offset_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    sink.add({piece.data(), static_cast<std::size_t>(count)});
    offset_ += count;
    left -= count;
  }
}

std::uint64_t size_of_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  // Include the inode: a file that replaced the previous one may have the same size.
  return static_cast<std::uint64_t>(status.st_size) ^
         (static_cast<std::uint64_t>(status.st_ino) << 40);
}

}  // namespace engine
