#include "init/copy/tree/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/content_hash.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/tree_digest.h"
#include "init/sys/files.h"

namespace copy {
namespace {

// marks the beginning of a file's parts
constexpr PartRange kBegin{.first = UINT64_MAX, .last = UINT64_MAX};
constexpr std::uint64_t kRecordSeed = 0x7472'6169'6e69'7405;

struct Record {
  std::uint64_t state;
  PartRange parts;
  std::uint64_t check;
};

template <class T>
std::string_view bytes_of(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

std::uint64_t check_of(std::uint64_t state, PartRange parts) {
  return base::hash_of(bytes_of(std::array{state, parts.first, parts.last}), kRecordSeed);
}

base::Status append(int file, std::uint64_t state, PartRange parts) {
  const Record record{state, parts, check_of(state, parts)};
  errno = ENOSPC;
  if (::write(file, &record, sizeof record) == ssize_t{sizeof record}) return {};
  return base::fail("noting a part of a large file", "the copy's own directory",
                    sys::errno_text(errno), "make room on its file system");
}

}  // namespace

std::uint64_t state_of(std::string_view path, const struct stat& status) {
  // The inode number is left out, because some file systems invent new ones (tree_digest.h).
  const std::array<std::uint64_t, 4> state = {
      static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(to_ns(status.st_mtim)),
      static_cast<std::uint64_t>(to_ns(status.st_ctim)), status.st_dev};
  return base::hash_of(path, base::hash_of(bytes_of(state)));
}

base::Result<Journal> Journal::open(const std::string& directory) {
  const std::string path = directory + "/parts";
  sys::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status{};
  if (file.valid() && ::fstat(file.get(), &status) == 0) {
    // A full disk may have cut the last record. It is removed, so that the next records are
    // aligned.
    const auto whole = status.st_size / off_t{sizeof(Record)} * off_t{sizeof(Record)};
    if (whole == status.st_size || ::ftruncate(file.get(), whole) == 0) {
      return Journal(std::move(file));
    }
  }
  return base::fail("opening the journal of a copy", path, sys::errno_text(errno),
                    "let the directory be written");
}

base::Status Journal::begin(std::uint64_t state) { return append(file_.get(), state, kBegin); }

base::Status Journal::add(std::uint64_t state, PartRange parts) {
  return append(file_.get(), state, parts);
}

void PartSet::add(PartRange range) {
  const auto first = std::ranges::lower_bound(ranges_, range.first, {}, &PartRange::last);
  auto behind = first;
  for (; behind != ranges_.end() && behind->first <= range.last; ++behind) {
    range.first = std::min(range.first, behind->first);
    range.last = std::max(range.last, behind->last);
  }
  ranges_.insert(ranges_.erase(first, behind), range);
}

std::uint64_t PartSet::end_of(std::uint64_t part) const {
  const auto behind = std::ranges::upper_bound(ranges_, part, {}, &PartRange::first);
  return behind == ranges_.begin() ? part : std::max(part, (behind - 1)->last);
}

PartSet Journal::done(std::uint64_t state, std::uint64_t parts) const {
  PartSet done;
  std::array<Record, 1024> records{};
  for (off_t at = 0;;) {
    const ssize_t size = read_kept(file_.get(), reinterpret_cast<char*>(records.data()),
                                   sizeof records, static_cast<std::uint64_t>(at));
    if (size < ssize_t{sizeof(Record)}) return done;
    const std::size_t count = static_cast<std::size_t>(size) / sizeof(Record);
    for (std::size_t index = 0; index < count; ++index) {
      const Record& record = records.at(index);
      if (record.state != state || record.check != check_of(state, record.parts)) continue;
      if (record.parts.first == kBegin.first) {
        done.clear();
      } else if (record.parts.first < record.parts.last && record.parts.last <= parts) {
        done.add(record.parts);
      }
    }
    at += static_cast<off_t>(count * sizeof(Record));
  }
}

}  // namespace copy
