#include "init/copy/tree/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/content_hash.h"
#include "init/copy/tree/tree_digest.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr std::uint64_t kBegin = UINT64_MAX;  // in a part's place
constexpr std::uint64_t kRecordSeed = 0x7472'6169'6e69'7403;

struct Record {
  std::uint64_t state;
  std::uint64_t part;
  std::uint64_t check;
};

template <class T>
std::string_view bytes_of(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

std::uint64_t check_of(std::uint64_t state, std::uint64_t part) {
  return envgen::hash_of(bytes_of(std::array{state, part}), kRecordSeed);
}

envgen::Status append(int file, std::uint64_t state, std::uint64_t part) {
  const Record record{state, part, check_of(state, part)};
  errno = ENOSPC;
  if (::write(file, &record, sizeof record) == ssize_t{sizeof record}) return {};
  return envgen::fail("noting a part of a large file", "the copy's own directory",
                      sys::errno_text(errno), "make room on its file system");
}

}  // namespace

std::uint64_t state_of(std::string_view path, const struct stat& status) {
  // Without the inode, as in tree_digest.h.
  const std::array<std::uint64_t, 4> state = {
      static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(to_ns(status.st_mtim)),
      static_cast<std::uint64_t>(to_ns(status.st_ctim)), status.st_dev};
  return envgen::hash_of(path, envgen::hash_of(bytes_of(state)));
}

envgen::Result<Journal> Journal::open(const std::string& directory) {
  const std::string path = directory + "/parts";
  sys::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status{};
  if (file.valid() && ::fstat(file.get(), &status) == 0) {
    // A full disk may have cut the last record: the next ones must not lie askew.
    const auto whole = status.st_size / off_t{sizeof(Record)} * off_t{sizeof(Record)};
    if (whole == status.st_size || ::ftruncate(file.get(), whole) == 0) {
      return Journal(std::move(file));
    }
  }
  return envgen::fail("opening the journal of a copy", path, sys::errno_text(errno),
                      "let the directory be written");
}

envgen::Status Journal::begin(std::uint64_t state) { return append(file_.get(), state, kBegin); }

envgen::Status Journal::add(std::uint64_t state, std::uint64_t part) {
  return append(file_.get(), state, part);
}

std::vector<bool> Journal::done(std::uint64_t state, std::uint64_t parts) const {
  std::vector<bool> done(parts);
  std::array<Record, 1024> records{};
  for (off_t at = 0;;) {
    const ssize_t size = ::pread(file_.get(), records.data(), sizeof records, at);
    if (size < ssize_t{sizeof(Record)}) return done;
    const std::size_t count = static_cast<std::size_t>(size) / sizeof(Record);
    for (std::size_t index = 0; index < count; ++index) {
      const Record& record = records.at(index);
      if (record.state != state || record.check != check_of(state, record.part)) continue;
      if (record.part == kBegin) {
        done.assign(parts, false);
      } else if (record.part < parts) {
        done.at(record.part) = true;
      }
    }
    at += static_cast<off_t>(count * sizeof(Record));
  }
}

}  // namespace copy
