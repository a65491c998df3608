#include "init/copy/tree/links.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace copy {
namespace {

std::string key_of(const struct stat& status) {
  return std::to_string(status.st_dev) + "-" + std::to_string(status.st_ino);
}

int links_of(Worker& worker) {
  if (!worker.links.valid()) {
    const std::string path = worker.job.state + "/links";
    worker.links.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return worker.links.get();
}

// A file system without them says so in many ways.
bool has_no_links(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EXDEV;
}

// That of a call which made no link.
envgen::Status take_failure(Worker& worker, int error) {
  if (!has_no_links(error)) return cannot_write(worker, error);
  worker.job.header->no_links = true;
  return {};
}

}  // namespace

envgen::Result<bool> link_to_first(Worker& worker, const DirectoryPair& directories,
                                   const char* name, const struct stat& status) {
  if (worker.job.header->no_links) return false;
  const std::string key = key_of(status);
  const int links = links_of(worker);
  if (::linkat(links, key.c_str(), directories.to, name, 0) == 0) return true;
  if (errno == ENOENT) return false;
  // It has as many names as it may: there is another first one from here on.
  if (errno == EMLINK && ::unlinkat(links, key.c_str(), 0) == 0) return false;
  if (errno == ENOENT) return false;  // somebody else has done that
  TRY(take_failure(worker, errno));
  return false;
}

envgen::Result<bool> claim_first(Worker& worker, const DirectoryPair& directories, const char* name,
                                 const struct stat& status) {
  if (worker.job.header->no_links) return true;
  if (::linkat(directories.to, name, links_of(worker), key_of(status).c_str(), 0) == 0) return true;
  if (errno == EEXIST) return false;
  TRY(take_failure(worker, errno));
  return true;
}

envgen::Result<bool> keep_link(Worker& worker, const DirectoryPair& directories, const char* name,
                               const struct stat& status, const struct stat& copy) {
  auto claimed = claim_first(worker, directories, name, status);
  if (!claimed || *claimed) return claimed;
  struct stat first{};
  return ::fstatat(links_of(worker), key_of(status).c_str(), &first, AT_SYMLINK_NOFOLLOW) == 0 &&
         first.st_ino == copy.st_ino && first.st_dev == copy.st_dev;
}

}  // namespace copy
