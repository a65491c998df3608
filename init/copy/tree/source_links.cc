#include "init/copy/tree/source_links.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "init/copy/tree/entry_copy.h"
#include "init/copy/tree/foreign_source.h"
#include "init/sys/safe_path.h"

namespace copy {
namespace {

std::string_view above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

// Returns whether `target` of a link so deep below the root stays below it, judged by its text.
struct Text {
  bool stays = true;
  bool plain = true;  // no ".." behind a name, which may be a link itself
};
Text read_text(std::string_view target, std::ptrdiff_t depth) {
  Text text;
  bool named = false;
  text.stays = !target.starts_with('/');
  while (!target.empty()) {
    const std::size_t size = std::min(target.find('/'), target.size());
    const std::string_view part = target.substr(0, size);
    target.remove_prefix(std::min(size + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      named = true;
      continue;
    }
    text.plain = text.plain && !named;
    if (--depth < 0) text.stays = false;
  }
  return text;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Returns whether the path is the machine's own, not data: /etc/mtab leads to /proc.
bool is_of_kernel(int fd) {
  struct statfs system{};
  if (::fstatfs(fd, &system) != 0) return true;
  return system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
}

// Root reads with the rights of the job's user, else of whoever shall own the copy, else of whoever
// made the link.
void choose_reader(Worker& worker, const struct stat& link) {
  worker.link_reader.reset();
  if (worker.uid != 0) return;
  const Options& options = *worker.job.options;
  if (options.job_user != nullptr && options.job_user->uid != 0) {
    worker.link_reader = *options.job_user;
    return;
  }
  // The link's group may be one that its directory has given it.
  constexpr std::uint32_t kNoGroup = 65534;
  const Owner who = options.owner.value_or(Owner{link.st_uid, kNoGroup});
  if (who.uid == 0) return;
  worker.link_reader.emplace();
  worker.link_reader->uid = who.uid;
  worker.link_reader->gid = who.gid;
  worker.link_reader->groups = {who.gid};
}

// Returns `path` with its links resolved; "" with errno. Root follows no link of others.
std::string resolve(const Worker& worker, const std::string& path) {
  std::array<char, PATH_MAX> real{};
  if (worker.uid == 0 && !worker.link_reader) {
    const auto reached = sys::resolve_safely(path, {.follow_last = true});
    errno = !reached && sys::is_foreign_link(reached.error()) ? EACCES : 0;
    if (errno != 0) return "";
  }
  const Reader reader(worker);
  if (!reader.may_read()) return "";
  return ::realpath(path.c_str(), real.data()) != nullptr ? real.data() : "";
}

// Judges worker.linked, which lies out of the source.
LinkFate judge_outside(const Worker& worker) {
  const auto unread = [] { return is_storage_error(errno) ? LinkFate::kUnread : LinkFate::kLeft; };
  const sys::Fd found = open_linked(worker, O_PATH);
  struct stat status{};
  if (!found.valid() || !stat_in_source(worker, found.get(), "", status)) return unread();
  if (is_of_kernel(found.get())) return LinkFate::kLeft;
  const bool folder = S_ISDIR(status.st_mode);
  if (!folder && !S_ISREG(status.st_mode)) return LinkFate::kLeft;
  if (folder) {
    // A loop has no end: no directory that the source lies in, and none in another one.
    if (worker.in_linked || lies_in(worker.job.source, worker.linked)) return LinkFate::kLeft;
    // The content is read with the rights that the source is read with.
    if (worker.link_reader && worker.job.options->job_user == nullptr) return LinkFate::kLeft;
  }
  if (!open_linked(worker, O_RDONLY | O_NONBLOCK | O_NOCTTY).valid()) return unread();
  return folder ? LinkFate::kFolder : LinkFate::kFile;
}

}  // namespace

LinkFate judge_link(Worker& worker, const struct stat& link) {
  worker.linked.clear();
  const std::ptrdiff_t depth = std::ranges::count(worker.path, '/');
  const Text text = read_text(worker.target, worker.in_linked ? 0 : depth);
  if (text.stays && text.plain) return LinkFate::kKept;
  choose_reader(worker, link);
  const std::string& root = worker.job.source;
  // Until it is known where the link leads, Reader has the rights for it.
  worker.linked = worker.target.starts_with('/')
                      ? worker.target
                      : shown(root, std::string(above(worker.path))) + "/" + worker.target;
  std::string real;
  const auto found = [&] {
    real = resolve(worker, worker.linked);
    return !real.empty();
  };
  const bool resolved = ask_source(worker.waiting, found);
  worker.linked = std::move(real);
  if (!resolved && is_storage_error(errno)) return LinkFate::kUnread;
  if (worker.linked.empty()) {
    const bool leads_nowhere = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    return leads_nowhere ? LinkFate::kKept : LinkFate::kLeft;
  }
  if (lies_in(worker.linked, root)) {
    if (!text.stays) {
      worker.target.clear();
      for (std::ptrdiff_t up = 0; up < depth; ++up) worker.target += "../";
      std::string_view below = std::string_view(worker.linked).substr(root.size());
      if (below.starts_with('/')) below.remove_prefix(1);
      worker.target += below.empty() ? "." : below;
    }
    worker.linked.clear();
    return LinkFate::kKept;
  }
  const LinkFate fate = judge_outside(worker);
  if (fate == LinkFate::kLeft || fate == LinkFate::kUnread) worker.linked.clear();
  return fate;
}

sys::Fd open_linked(const Worker& worker, int flags) {
  const int all = flags | O_NOFOLLOW | O_CLOEXEC;
  return ask_source(worker.waiting, [&]() -> sys::Fd {
    if (worker.uid == 0 && !worker.link_reader) {
      errno = 0;
      const auto reached = sys::resolve_safely(worker.linked);
      if (!reached) {
        if (!is_storage_error(errno)) errno = sys::is_absent(reached.error()) ? ENOENT : EACCES;
        return {};
      }
      return sys::Fd(::openat(reached->directory.get(), reached->name.c_str(), all));
    }
    const Reader reader(worker);
    if (!reader.may_read()) return {};
    return sys::Fd(::open(worker.linked.c_str(), all));
  });
}

sys::Fd open_file_below_source(Worker& worker, int flags) {
  sys::Fd file = open_below_source(worker, worker.path, flags);
  if (file.valid() || errno != ELOOP) return file;
  const std::string_view directory = above(worker.path);
  const std::string name = worker.path.substr(directory.empty() ? 0 : directory.size() + 1);
  const sys::Fd parent = open_below_source(worker, directory, O_PATH | O_DIRECTORY);
  struct stat link{};
  const auto read = [&] { return read_target(worker.target, parent.get(), name.c_str()); };
  if (!parent.valid() || !stat_in_source(worker, parent.get(), name.c_str(), link) ||
      !ask_source(worker.waiting, read)) {
    return {};
  }
  const LinkFate fate = judge_link(worker, link);
  if (fate == LinkFate::kUnread) return {};
  errno = ELOOP;
  if (fate != LinkFate::kFile) return {};
  return open_linked(worker, flags);
}

bool is_replaced(Worker& worker, int error) {
  if (error != ESTALE) return false;
  const bool foreign = worker.foreign;
  const sys::Fd now = worker.linked.empty() ? open_below_source(worker, worker.path, O_PATH)
                                            : open_linked(worker, O_PATH);
  struct stat status{};
  const bool there = now.valid() && stat_in_source(worker, now.get(), "", status);
  worker.foreign = foreign;  // path of the current directory
  if (there ? status.st_ino == worker.opened : !is_gone(errno)) {
    errno = error;
    return false;
  }
  note_change(worker);
  return true;
}

}  // namespace copy
