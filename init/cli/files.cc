#include "init/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "init/cli/commands.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace cli {

using envgen::PathState;

envgen::Result<std::string> read_file(const std::string& path, const char* what) {
  PathState state = sys::look(path, true);
  if (state.kind == PathState::Kind::kFile) return std::move(state.content);
  std::string found = sys::errno_text(state.error);
  if (state.kind == PathState::Kind::kAbsent) found = "no such file";
  if (state.kind == PathState::Kind::kDirectory) found = "a directory";
  if (state.kind == PathState::Kind::kError && state.error == EINVAL) found = "no regular file";
  if (state.error == EFBIG) {
    found = std::to_string(state.size_bytes >> 20) + " MiB; at most " +
            std::to_string(envgen::kMaxInputBytes >> 20) + " MiB are read";
  }
  return envgen::fail(what, path, found, "name a readable regular file");
}

// A rename over what is no regular file would put one there: instead of a device, or of the link
// that /dev/stdout is.
envgen::Status write_output(const std::string& path, std::string_view text, const char* what) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    return sys::write_file_atomic(path, 0644, text);
  }
  const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
  const int error = fd.valid() ? write_to(fd.get(), text) : errno;
  if (error == 0) return {};
  return envgen::fail(what, path, sys::errno_text(error),
                      "name a file in a writable directory, or - for stdout");
}

}  // namespace cli
