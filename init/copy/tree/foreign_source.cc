#include "init/copy/tree/foreign_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "init/sys/mounts.h"

namespace copy {
namespace {

const envgen::Identity* other_user(const Worker& worker) {
  const envgen::Identity* job = worker.job.options->job;
  return worker.uid == 0 && job != nullptr && job->uid != 0 ? job : nullptr;
}

// The mounts are read once for each.
bool is_written_nowhere(Worker& worker, int fd, dev_t device) {
  if (worker.looked_at != device) {
    worker.looked_at = device;
    worker.written_nowhere = sys::is_written_nowhere(fd);
  }
  return worker.written_nowhere;
}

bool others_may_change(Worker& worker, int fd, const envgen::Identity& job) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return true;
  return sys::lets_others_change(fd, status, &job) &&
         !is_written_nowhere(worker, fd, status.st_dev);
}

sys::Fd open_at(const Worker& worker, int directory, const std::string& name, int flags) {
  const Reader reader(worker);
  if (!reader.may_read()) return {};
  return sys::Fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

Reader::Reader(const Worker& worker) {
  if (!worker.foreign) return;
  user_.emplace(*worker.job.options->job);
  if (!user_->switched()) errno = EPERM;
}

sys::Fd open_source_root(Worker& worker) {
  const std::string& path = worker.job.source;
  const envgen::Identity* job = other_user(worker);
  if (job == nullptr) return sys::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto reached = sys::reach(path, {.job = job});
  worker.foreign_way = !reached || !reached->weakness.empty();
  worker.foreign = worker.foreign_way;
  if (!worker.foreign) return open_at(worker, reached->directory.get(), reached->name, O_PATH);
  const Reader reader(worker);
  if (!reader.may_read()) return {};
  return sys::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

sys::Fd open_below_source(Worker& worker, std::string_view path, int flags) {
  const envgen::Identity* job = other_user(worker);
  if (job == nullptr) return open_below(worker.source.get(), path, flags);
  worker.foreign = worker.foreign_way;
  sys::Fd directory;
  int from = worker.source.get();
  while (!path.empty()) {
    if (!worker.foreign) worker.foreign = others_may_change(worker, from, *job);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    directory = open_at(worker, from, std::string(path.substr(0, slash)), O_PATH | O_DIRECTORY);
    if (!directory.valid()) return {};
    from = directory.get();
    path.remove_prefix(slash + 1);
  }
  sys::Fd opened = open_at(worker, from, path.empty() ? "." : std::string(path), flags);
  if (opened.valid() && !worker.foreign) {
    worker.foreign = others_may_change(worker, opened.get(), *job);
  }
  return opened;
}

}  // namespace copy
