#include "init/copy/links.h"

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
void note_failure(Worker& worker) {
  if (errno != EMLINK) worker.job.board->no_links = true;
}

}  // namespace

bool link_to_first(Worker& worker, const Place& place, const char* name,
                   const struct stat& status) {
  if (worker.job.board->no_links) return false;
  if (::linkat(links_of(worker), key_of(status).c_str(), place.to, name, 0) == 0) return true;
  if (errno != ENOENT) note_failure(worker);
  return false;
}

bool claim_first(Worker& worker, const Place& place, const char* name, const struct stat& status) {
  if (worker.job.board->no_links) return true;
  if (::linkat(place.to, name, links_of(worker), key_of(status).c_str(), 0) == 0) return true;
  if (errno == EEXIST) return false;
  note_failure(worker);
  return true;
}

bool keep_link(Worker& worker, const Place& place, const char* name, const struct stat& status,
               const struct stat& copy) {
  if (claim_first(worker, place, name, status)) return true;
  struct stat first{};
  return ::fstatat(links_of(worker), key_of(status).c_str(), &first, AT_SYMLINK_NOFOLLOW) == 0 &&
         first.st_ino == copy.st_ino && first.st_dev == copy.st_dev;
}

}  // namespace copy
