#include "init/copy/tree/links.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/content_hash.h"
#include "init/copy/tree/source_links.h"

namespace copy {
namespace {

int links_of(Worker& worker) {
  if (!worker.links.valid()) {
    const std::string path = worker.job.state + "/links";
    worker.links.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return worker.links.get();
}

// Returns whether the errno means that the file system has no hard links.
bool has_no_links(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EXDEV;
}

// Handles the errno of a link() that failed: a file system without hard links is no error.
base::Status take_failure(Worker& worker, int error) {
  if (!has_no_links(error)) return cannot_write(worker, error);
  worker.job.header->no_links = true;
  return {};
}

}  // namespace

base::Status make_link_key(Worker& worker, int file, const struct stat& status) {
  constexpr off_t kSample = 4096;  // bytes that are hashed at the beginning and at the end
  std::array<char, kSample> sample{};
  std::uint64_t hash = state_of("", status);
  for (const off_t at : {off_t{0}, std::max(status.st_size - kSample, off_t{0})}) {
    const ssize_t size = ask_source(worker.waiting, [&] {
      return read_all(file, sample.data(), sample.size(), static_cast<std::uint64_t>(at));
    });
    if (size < 0 && !is_replaced(worker, errno)) return cannot_read(worker, errno);
    hash =
        base::hash_of({sample.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}, hash);
  }
  worker.link_key = std::to_string(status.st_ino) + "-" + std::to_string(hash);
  return {};
}

base::Result<bool> link_to_first(Worker& worker, const DirectoryPair& directories,
                                 const char* name) {
  if (worker.job.header->no_links) return false;
  const std::string& key = worker.link_key;
  const int links = links_of(worker);
  if (::linkat(links, key.c_str(), directories.to, name, 0) == 0) return true;
  if (errno == ENOENT) return false;
  // The file has as many names as its file system allows, so the next name becomes a new file.
  if (errno == EMLINK && ::unlinkat(links, key.c_str(), 0) == 0) return false;
  if (errno == ENOENT) return false;  // another worker has already removed it
  TRY(take_failure(worker, errno));
  return false;
}

base::Result<bool> claim_first(Worker& worker, const DirectoryPair& directories, const char* name) {
  if (worker.job.header->no_links) return true;
  if (::linkat(directories.to, name, links_of(worker), worker.link_key.c_str(), 0) == 0)
    return true;
  if (errno == EEXIST) return false;
  TRY(take_failure(worker, errno));
  return true;
}

base::Result<bool> keep_link(Worker& worker, const DirectoryPair& directories, const char* name,
                             const struct stat& copy) {
  auto claimed = claim_first(worker, directories, name);
  if (!claimed || *claimed) return claimed;
  struct stat first{};
  return ::fstatat(links_of(worker), worker.link_key.c_str(), &first, AT_SYMLINK_NOFOLLOW) == 0 &&
         first.st_ino == copy.st_ino && first.st_dev == copy.st_dev;
}

}  // namespace copy
