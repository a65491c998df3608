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

// The meaning of the text of a link's target: `stays` is true if the target stays below the root,
// for a link so many directories below it.
struct Text {
  bool stays = true;
  bool plain = true;  // no ".." after a name: that name may itself be a link
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

// Returns whether the file belongs to the kernel and is not data. For example, /etc/mtab leads to
// /proc.
bool is_of_kernel(int fd) {
  struct statfs system{};
  if (::fstatfs(fd, &system) != 0) return true;
  return system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
}

// Chooses the user whose rights root uses to read the link's target: the job's user, otherwise the
// future owner of the copy, otherwise the owner of the link.
void choose_reader(Worker& worker, const struct stat& link) {
  worker.link_reader.reset();
  if (worker.uid != 0) return;
  const Options& options = *worker.job.options;
  if (options.job_user != nullptr && options.job_user->uid != 0) {
    worker.link_reader = *options.job_user;
    return;
  }
  // The group of the link does not count, because the link may have got it from its directory.
  constexpr std::uint32_t kNoGroup = 65534;
  const Owner who = options.owner.value_or(Owner{link.st_uid, kNoGroup});
  if (who.uid == 0) return;
  worker.link_reader.emplace();
  worker.link_reader->uid = who.uid;
  worker.link_reader->gid = who.gid;
  worker.link_reader->groups = {who.gid};
}

// Returns `path` without symlinks; "" on failure, with errno. Root follows no link of another user.
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

// Decides about worker.linked, which is outside of the source.
LinkFate judge_outside(const Worker& worker) {
  const auto unread = [] { return is_storage_error(errno) ? LinkFate::kUnread : LinkFate::kLeft; };
  const sys::Fd found = open_linked(worker, O_PATH);
  struct stat status{};
  if (!found.valid() || !stat_in_source(worker, found.get(), "", status)) return unread();
  if (is_of_kernel(found.get())) return LinkFate::kLeft;
  const bool folder = S_ISDIR(status.st_mode);
  if (!folder && !S_ISREG(status.st_mode)) return LinkFate::kLeft;
  if (folder) {
    // Prevents loops: a directory that contains the source, or that is inside another such target,
    // stays a link.
    if (worker.in_linked || lies_in(worker.job.source, worker.linked)) return LinkFate::kLeft;
    // A directory's content would be read with the rights for the source, which may exceed those of
    // the link's owner.
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
  // Set first, so that Reader uses the rights of link_reader until it is known where the link
  // leads.
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
  worker.foreign = foreign;  // restores the value for the current directory
  if (there ? status.st_ino == worker.opened : !is_gone(errno)) {
    errno = error;
    return false;
  }
  note_change(worker);
  return true;
}

}  // namespace copy
