#include "init/copy/publish/publication_journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <tuple>

#include "init/copy/tree/contents.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "bringing a copy to its place";
constexpr std::string_view kPublishing = "publishing";
constexpr std::string_view kPublished = "published";

std::string journal_of(const Destination& destination) { return destination.state + "/journal"; }

std::uint64_t next_number(std::string_view& text) {
  std::uint64_t value = 0;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

}  // namespace

PublicationJournal read_journal(const Destination& destination) {
  const sys::Fd fd(::open(journal_of(destination).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 256> buffer{};
  const ssize_t count = fd.valid() ? read_kept(fd.get(), buffer.data(), buffer.size(), 0) : -1;
  std::string_view text(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  PublicationJournal journal;
  journal.torn = fd.valid() && !text.ends_with('\n');
  if (!text.ends_with('\n')) return journal;
  journal.publishing = text.starts_with(kPublishing);
  text.remove_prefix(std::min(text.find(' '), text.size()));
  journal.tree = next_number(text);
  journal.old = next_number(text);
  std::ignore = next_number(text);  // a number that earlier versions wrote
  journal.mode = next_number(text);
  return journal;
}

base::Status write_journal(const Destination& destination, const PublicationJournal& journal) {
  std::string text(journal.publishing ? kPublishing : kPublished);
  for (const std::uint64_t number : {journal.tree, journal.old, std::uint64_t{0}, journal.mode}) {
    text += " " + std::to_string(number);
  }
  return write_state(journal_of(destination), text + "\n", false);
}

// Writes a temporary file and renames it. There is only one writer at a time, so the temporary name
// is always the same, and a killed run leaves at most one such file.
base::Status write_state(const std::string& path, std::string_view text, bool durable) {
  const std::string other = path + ".new";
  const sys::Fd fd(
      ::open(other.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  // Sets the mode whatever the umask is, because other users read the record of a copy that they
  // share. A file system without permissions refuses the call.
  if (fd.valid()) std::ignore = ::fchmod(fd.get(), 0644);
  if (fd.valid()) errno = 0;  // a short write sets no errno
  const bool written = fd.valid() &&
                       ::write(fd.get(), text.data(), text.size()) == std::ssize(text) &&
                       (!durable || ::fsync(fd.get()) == 0);
  if (!written || ::rename(other.c_str(), path.c_str()) != 0) {
    return cannot_publish(path, fd.valid() && errno == 0 ? ENOSPC : errno);
  }
  return {};
}

base::Status check_state_files(const Destination& destination) {
  for (const char* name : {"journal", "journal.new", "record.json", "record.json.new",
                           "record.next", "record.next.new", "manifest", "progress"}) {
    const std::string path = destination.state + "/" + name;
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) continue;
    return base::fail(kWhat, path, "no regular file where trainit keeps one", "remove it");
  }
  return {};
}

base::Status cannot_publish(const std::string& where, int error) {
  const char* fix = "see that it may be written";
  if (error == EBUSY) fix = "something is mounted on it: name a directory below it";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there";
  if (error == EROFS) fix = "name a place that is not read-only";
  if (error == EXDEV) fix = "it is part of the image: name a place that is not there yet";
  return base::fail(kWhat, where, sys::errno_text(error), fix);
}

std::unexpected<base::Error> fail_on(const std::string& path, int error) {
  const char* fix = "name a place that may be written";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there";
  if (error == EISDIR) fix = "remove it";
  if (error == EMFILE || error == ENFILE) fix = "allow more open files";
  return base::fail("copying", path, sys::errno_text(error), fix);
}

}  // namespace copy
