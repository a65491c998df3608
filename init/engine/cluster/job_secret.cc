#include "init/engine/cluster/job_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "init/sys/fd.h"
#include "init/sys/mounts.h"
#include "init/sys/path_state.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

constexpr std::size_t kMin = 16;
constexpr std::size_t kMax = 65'536;
constexpr const char* kWhat = "reading the job's secret";
constexpr const char* kOfRoot =
    "let nobody but its owner write it and the directories on the way to it (chmod go-w), and let "
    "root own it, or mount it read-only from a Secret";

std::unexpected<base::Error> failed(const std::string& path, int error) {
  return base::fail(
      kWhat, path, sys::errno_text(error),
      error == EACCES ? "let trainit's user read it" : "mount the file there, or name another one");
}

// Returns the content of `file`, at most one byte more than a secret may have. So the caller
// notices a secret that is too long.
base::Result<std::string> content_of(const sys::Fd& file, const std::string& path) {
  std::string bytes(kMax + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count == 0) break;
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) return failed(path, errno);
  }
  bytes.resize(size);
  return bytes;
}

// Returns a warning if other users can read the file. If trainit reads root's file through its
// group, as with a Kubernetes Secret and fsGroup, the group's permission is needed.
std::string readers_of(const std::string& path, const struct stat& status) {
  const bool by_owner = ::geteuid() == 0 || status.st_uid == ::geteuid();
  if ((status.st_mode & (by_owner ? 044U : 004U)) == 0) return {};
  return "the job's secret may be read by other users: " + sys::described(path, status) +
         "; take that from them (chmod 600; in a pod defaultMode: 0400)";
}

base::Result<JobSecret> read_file(const std::string& path, const envgen::Identity* job_user) {
  // Follow symlinks, because a mounted Kubernetes Secret consists of them: file -> ..data/file,
  // ..data -> ..2026_11_23.
  auto reached = sys::resolve_safely(path, {.job_user = job_user, .follow_last = true});
  if (!reached) {
    reached.error().what = kWhat;
    return std::unexpected(std::move(reached.error()));
  }
  if (!reached->untrusted_directory.empty()) {
    return base::fail(kWhat, path, "others may change it by " + reached->untrusted_directory,
                      kOfRoot);
  }
  const int follow = reached->magic ? 0 : O_NOFOLLOW;
  const sys::Fd file(::openat(reached->directory.get(), reached->name.c_str(),
                              O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | follow));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return base::fail(kWhat, path, "something else than a file",
                      "name a file of at least " + std::to_string(kMin) + " random bytes");
  }
  const bool written = sys::lets_others_change(file.get(), status, job_user);
  if (!sys::is_ours(status.st_uid) || (written && !sys::is_written_nowhere(file.get()))) {
    return base::fail(kWhat, path, "others may change it: " + sys::described(path, status),
                      kOfRoot);
  }
  TRY_ASSIGN(auto bytes, content_of(file, path));
  if (bytes.size() > kMax) {
    return base::fail(kWhat, path, "more than " + std::to_string(kMax) + " bytes",
                      "name the file of the secret, such as head -c 32 /dev/urandom | base64");
  }
  // Ignore newlines at the end, which an editor or `echo` may have added on one node only.
  bytes.erase(bytes.find_last_not_of("\r\n") + 1);
  if (bytes.size() < kMin) {
    return base::fail(kWhat, path, std::to_string(bytes.size()) + " bytes, which can be guessed",
                      "give at least " + std::to_string(kMin) +
                          " random ones, such as head -c 32 /dev/urandom | base64");
  }
  return JobSecret{.bytes = std::move(bytes), .warning = readers_of(path, status)};
}

}  // namespace

base::Result<JobSecret> read_job_secret(const envgen::Request& request,
                                        const envgen::Identity* job_user) {
  if (!request.job_secret.empty()) return read_file(request.job_secret, job_user);
  if (request.ssh_key.empty()) return JobSecret{};
  auto secret = read_file(request.ssh_key, job_user);
  if (secret) return secret;
  return JobSecret{.bytes = {}, .warning = to_line(secret.error()) + "; going on without a secret"};
}

}  // namespace engine
