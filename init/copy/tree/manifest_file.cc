#include "init/copy/tree/manifest_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "init/copy/tree/contents.h"
#include "init/copy/tree/directory.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr std::size_t kBuffer = 65536;  // bytes

base::Status not_written(const std::string& where) {
  return base::fail("writing the manifest of a copy", where, sys::errno_text(errno),
                    "make room there, and let it be written");
}

constexpr std::string_view kPart = "manifest.";

std::string part_path(const std::string& directory, int number) {
  return directory + "/" + std::string(kPart) + std::to_string(number);
}

sys::Fd open_new(const std::string& path) {
  return sys::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
}

}  // namespace

base::Result<ManifestFile> ManifestFile::create(const std::string& directory, int number) {
  ManifestFile made;
  const std::string path = part_path(directory, number);
  made.file_ = open_new(path);
  if (!made.file_.valid()) return std::unexpected(not_written(path).error());
  return made;
}

base::Status ManifestFile::add(const ManifestLine& line) {
  append_line(text_, line);
  return text_.size() < kBuffer ? base::Status() : flush();
}

base::Status ManifestFile::flush() {
  if (file_.valid() && sys::write_all(file_.get(), text_) < text_.size())
    return not_written("the copy's directory");
  text_.clear();
  return {};
}

base::Status remove_parts(const std::string& directory) {
  const auto not_removed = [&directory]() -> base::Status {
    return base::fail("removing the manifests of an earlier run", directory, sys::errno_text(errno),
                      "remove it");
  };
  const sys::Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return not_removed();
  DirectoryReader reader;
  std::vector<Name> names;
  for (;;) {
    if (!reader.read(opened.get(), names)) return not_removed();
    if (names.empty()) return {};
    for (const Name& name : names) {
      if (!std::string_view(name.text).starts_with(kPart)) continue;
      if (::unlinkat(opened.get(), name.c_str(), 0) != 0) return not_removed();
    }
  }
}

base::Status join_manifests(const std::string& directory, int count, std::uint32_t mode) {
  const std::string path = directory + "/manifest";
  const std::string made = path + ".new";
  const sys::Fd whole = open_new(made);
  // A file system without permissions refuses fchmod, which is ignored.
  if (!whole.valid() || (::fchmod(whole.get(), mode) != 0 && errno != EPERM) ||
      sys::write_all(whole.get(), kManifestTitle) < kManifestTitle.size()) {
    return not_written(made);
  }
  std::string buffer(kBuffer, '\0');
  for (int number = 0; number < count; ++number) {
    const std::string part = part_path(directory, number);
    const sys::Fd file(::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) continue;  // fewer processes than planned were started
    for (std::uint64_t at = 0;;) {
      const ssize_t size = read_kept(file.get(), buffer.data(), buffer.size(), at);
      if (size < 0) return not_written(part);
      if (size == 0) break;
      at += static_cast<std::uint64_t>(size);
      const std::string_view lines(buffer.data(), static_cast<std::size_t>(size));
      if (sys::write_all(whole.get(), lines) < lines.size()) return not_written(made);
    }
    ::unlink(part.c_str());
  }
  return ::rename(made.c_str(), path.c_str()) == 0 ? base::Status() : not_written(path);
}

}  // namespace copy
