#include "init/copy/tree/foreign_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

const envgen::Identity* other_user(const Worker& worker) {
  const envgen::Identity* job_user = worker.job.options->job_user;
  return worker.uid == 0 && job_user != nullptr && job_user->uid != 0 ? job_user : nullptr;
}

// Returns whether the file system of `fd` can be written through no mount. Determined once for each
// mount: one device may be mounted read-only at one place and not at another.
bool is_written_nowhere(Worker& worker, int fd) {
  const std::uint64_t mount = sys::mount_id_of(fd);
  if (mount == 0 || worker.looked_at != mount) {
    worker.looked_at = mount;
    worker.written_nowhere = sys::is_written_nowhere(fd);
  }
  return worker.written_nowhere;
}

bool others_may_change(Worker& worker, int fd, const envgen::Identity& job_user) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return true;
  return sys::lets_others_change(fd, status, &job_user) && !is_written_nowhere(worker, fd);
}

sys::Fd open_at(const Worker& worker, int directory, const std::string& name, int flags) {
  const Reader reader(worker);
  if (!reader.may_read()) return {};
  return sys::Fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

sys::Fd open_root(Worker& worker, const std::string& path) {
  const envgen::Identity* job_user = other_user(worker);
  if (job_user == nullptr) return sys::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  // Follows the links of the path: a copy on a volume is behind a link that trainit has made.
  errno = 0;
  const auto reached = sys::resolve_safely(path, {.job_user = job_user, .follow_last = true});
  if (!reached && is_storage_error(errno)) return {};
  worker.foreign_way = !reached || !reached->untrusted_directory.empty();
  worker.foreign = worker.foreign_way;
  if (!worker.foreign) return open_at(worker, reached->directory.get(), reached->name, O_PATH);
  const Reader reader(worker);
  if (!reader.may_read()) return {};
  return sys::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

// Opens what a link in the source leads to, if the copy follows it. Root follows no link of another
// user.
sys::Fd open_through_links(Worker& worker, std::string_view path, int flags) {
  const std::string whole = shown(worker.job.source, std::string(path));
  worker.foreign = other_user(worker) != nullptr;
  if (worker.uid == 0 && !worker.foreign) {
    errno = 0;
    const auto reached = sys::resolve_safely(whole, {.follow_last = true});
    if (reached) return open_at(worker, reached->directory.get(), reached->name, flags);
    if (!is_storage_error(errno)) errno = sys::is_absent(reached.error()) ? ENOENT : EACCES;
    return {};
  }
  const Reader reader(worker);
  if (!reader.may_read()) return {};
  return sys::Fd(::open(whole.c_str(), flags | O_CLOEXEC));
}

sys::Fd open_from(Worker& worker, int from, std::string_view path, int flags) {
  const envgen::Identity* job_user = other_user(worker);
  if (job_user == nullptr) return open_below(from, path, flags);
  worker.foreign = worker.foreign_way;
  sys::Fd directory;
  while (!path.empty()) {
    if (!worker.foreign) worker.foreign = others_may_change(worker, from, *job_user);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    directory = open_at(worker, from, std::string(path.substr(0, slash)), O_PATH | O_DIRECTORY);
    if (!directory.valid()) return {};
    from = directory.get();
    path.remove_prefix(slash + 1);
  }
  sys::Fd opened = open_at(worker, from, path.empty() ? "." : std::string(path), flags);
  if (opened.valid() && !worker.foreign) {
    worker.foreign = others_may_change(worker, opened.get(), *job_user);
  }
  return opened;
}

}  // namespace

Reader::Reader(const Worker& worker) {
  const bool linked = !worker.linked.empty();
  if (linked ? !worker.link_reader : !worker.foreign) return;
  user_.emplace(linked ? *worker.link_reader : *worker.job.options->job_user);
  if (!user_->switched()) errno = EPERM;
}

sys::Fd open_source_root(Worker& worker) {
  return ask_source(worker.waiting, [&] { return open_root(worker, worker.job.source); });
}

sys::Fd open_below_source(Worker& worker, std::string_view path, int flags) {
  return ask_source(worker.waiting, [&] {
    return worker.in_linked ? open_through_links(worker, path, flags)
                            : open_from(worker, worker.source.get(), path, flags);
  });
}

sys::Fd open_in_source(Worker& worker, const std::string& source, std::string_view path,
                       int flags) {
  const std::string name = source.substr(source.rfind('/') + 1);
  return ask_source(worker.waiting, [&] {
    const sys::Fd root = open_root(worker, path.empty() ? sys::parent_of(source) : source);
    return root.valid() ? open_from(worker, root.get(), path.empty() ? name : path, flags)
                        : sys::Fd();
  });
}

}  // namespace copy
