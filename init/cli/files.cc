#include "init/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "init/cli/invocation.h"
#include "init/sys/fd.h"
#include "init/sys/safe_path.h"

namespace cli {

using envgen::PathState;

base::Result<std::string> read_file(const std::string& path, const char* what) {
  PathState state = sys::inspect(path, true);
  if (state.kind == PathState::Kind::kFile) return std::move(state.content);
  std::string found = sys::errno_text(state.error);
  if (state.kind == PathState::Kind::kAbsent) found = "no such file";
  if (state.kind == PathState::Kind::kDirectory) found = "a directory";
  if (state.kind == PathState::Kind::kError && state.error == EINVAL) found = "no regular file";
  if (state.error == EFBIG) {
    found = std::to_string(state.size_bytes >> 20) + " MiB; at most " +
            std::to_string(envgen::kMaxInputBytes >> 20) + " MiB are read";
  }
  return base::fail(what, path, found, "name a readable regular file");
}

namespace {

// Opens a file that is not regular: a device, a FIFO, or the target of a link. A file that another
// user could have created is an error.
base::Result<sys::Fd> open_there(const std::string& path, const sys::SafePath& reached) {
  constexpr int kFlags = O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC;
  if (!reached.untrusted_directory.empty()) {
    return base::fail(
        "", path,
        "no regular file, in " + reached.untrusted_directory + ", which others may change",
        "remove it, or name a file in a directory of your own");
  }
  TRY_ASSIGN(auto end, sys::resolve_safely(path, {.follow_last = true}));
  const int follow = end.magic ? 0 : O_NOFOLLOW;
  return sys::Fd(::openat(end.directory.get(), end.name.c_str(), kFlags | follow));
}

}  // namespace

// Replaces a regular file by rename. Any other file is opened instead, because a rename would put a
// regular file in the place of a device or of the link /dev/stdout.
base::Status write_output(const std::string& path, const sys::Producer& text, const char* what) {
  auto reached = sys::resolve_safely(path);
  struct stat status{};
  const bool there = reached && ::fstatat(reached->directory.get(), reached->name.c_str(), &status,
                                          AT_SYMLINK_NOFOLLOW) == 0;
  if (!there || S_ISREG(status.st_mode)) return sys::write_file_atomic(path, 0644, text);
  auto fd = open_there(path, *reached);
  if (!fd) {
    fd.error().what = what;
    return std::unexpected(std::move(fd.error()));
  }
  const int error = fd->valid() ? sys::write_pieces(fd->get(), text) : errno;
  if (error == 0) return {};
  return base::fail(what, path, sys::errno_text(error),
                    "name a file in a writable directory, or - for stdout");
}

base::Status write_output(const std::string& path, std::string_view text, const char* what) {
  return write_output(path, [text](const sys::Sink& sink) { sink(text); }, what);
}

int put_out(const std::string& path, const sys::Producer& text, const char* what) {
  if (path.empty() || path == "-") {
    const int error = sys::write_pieces(STDOUT_FILENO, text);
    if (error == 0) return 0;
    return complain({"writing the result", "stdout", sys::errno_text(error), ""});
  }
  auto status = write_output(path, text, what);
  return status ? 0 : complain(status.error());
}

int put_out(const std::string& path, std::string_view text, const char* what) {
  return put_out(path, [text](const sys::Sink& sink) { sink(text); }, what);
}

}  // namespace cli
