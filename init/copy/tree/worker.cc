#include "init/copy/tree/worker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "init/sys/files.h"

namespace copy {
namespace {

base::Status give_away(Worker& worker, std::span<const Name> names) {
  std::string packed;
  for (const Name& name : names) {
    packed += static_cast<char>(name.type);
    packed += name.text;
    packed += '\0';
  }
  Item item;
  item.kind = ItemKind::kNames;
  item.fresh = worker.rest.fresh;
  item.in_linked = worker.in_linked;
  item.path = worker.rest.directory;
  item.names = packed;
  return worker.list.push(item);
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

void write_path(const Worker& worker, std::array<char, 1024>& text) {
  const std::size_t size = std::min(worker.path.size(), text.size() - 1);
  std::memcpy(text.data(), worker.path.data(), size);
  text.at(size) = '\0';
}

std::string fix_for(int error, bool writing) {
  if (error == EDQUOT) return "raise the quota, or make room there; what was copied is removed";
  if (is_full(error)) return "make room there; what was copied is removed";
  if (writing && (error == ENAMETOOLONG || error == EINVAL || error == EILSEQ)) {
    return "its file system does not take each name of the source: rename it, leave it out with "
           "--exclude, or copy to another place";
  }
  if (error == EROFS) return "mount it writable, or copy to another place";
  if (error == EACCES || error == EPERM) {
    return writing ? "let the place be written, or copy as its owner"
                   : "let it be read, copy as a user who may, or exclude it";
  }
  if (error == EMFILE || error == ENFILE) return "allow more open files";
  if (error == ENOMEM) return "give the container more memory";
  if (error == EFBIG) {
    return "raise the limit on the size of a file (ulimit -f), or copy to a file system that takes "
           "larger ones";
  }
  if (error == ENOENT) {
    return writing ? "let nothing else write to the place of the copy" : "name what is there";
  }
  if (error == EEXIST) return "its file system takes two names of the source for one: rename one";
  if (!is_storage_error(error)) return "";
  return writing ? kCheckStorage : std::string(kCheckStorage) + "; or leave it out with --exclude";
}

}  // namespace

std::string shown(const std::string& root, const std::string& path) {
  if (path.empty()) return root;
  return root.ends_with('/') ? root + path : root + "/" + path;
}

bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

std::unexpected<base::Error> cannot_read(const Worker& worker, int error) {
  std::string found = tried_text(error);
  if (worker.foreign) found += " as user " + std::to_string(worker.job.options->job_user->uid);
  return base::fail("reading what is to be copied", shown(worker.job.source, worker.path),
                    std::move(found), fix_for(error, false));
}

std::unexpected<base::Error> cannot_write(const Worker& worker, int error) {
  if (is_full(error)) worker.job.header->full = true;
  return base::fail("writing a copy", shown(worker.job.tree, worker.path), sys::errno_text(error),
                    fix_for(error, true));
}

void note_change(Worker& worker) {
  worker.job.header->unstable = true;
  name_change(worker);
}

void name_change(Worker& worker) {
  SharedHeader& header = *worker.job.header;
  const std::uint32_t slot = header.noted.fetch_add(1);
  if (slot < kNoted) write_path(worker, header.changed.at(slot));
}

bool stat_in_source(const Worker& worker, int directory, const char* name, struct stat& status) {
  return ask_source(worker.waiting, [&] {
    return *name == '\0' ? ::fstat(directory, &status) == 0
                         : ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  });
}

void settle_source(Worker& worker, int directory, const char* name, struct stat& status) {
  const StorageCall call(worker.waiting, CopySide::kSource);
  if (settle_times(worker.times, directory, name, status)) worker.job.header->times_made_up = true;
}

void note_link(Worker& worker, LinkNote& note) {
  if (note.count.fetch_add(1) == 0) write_path(worker, note.first);
}

void update_counters(Worker& worker) {
  Counters& counters = *worker.job.counters;
  const TreeSize& now = worker.sums.size;
  counters.entries.fetch_add(now.entries - worker.counted.entries, std::memory_order_relaxed);
  if (worker.job.tree.empty()) {
    counters.bytes.fetch_add(now.bytes - worker.counted.bytes, std::memory_order_relaxed);
  }
  worker.counted = now;
}

base::Status share_rest(Worker& worker, std::size_t least) {
  std::span<const Name>& names = worker.rest.names;
  while (names.size() >= least && worker.list.hungry()) {
    const std::size_t kept = names.size() / 2;
    TRY(give_away(worker, names.subspan(kept)));
    names = names.first(kept);
  }
  return {};
}

Worker::Worker(const CopyJob& what, WorkList& work, int index)
    : job(what),
      waiting(&what.header->waiting.at(static_cast<std::size_t>(index))),
      list(work),
      number(index),
      uid(::geteuid()),
      gid(::getegid()),
      copier(what.counters->bytes, waiting) {}

}  // namespace copy
