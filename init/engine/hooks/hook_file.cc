#include "init/engine/hooks/hook_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "init/engine/hooks/hook_exports.h"
#include "init/sys/files.h"

namespace engine {
namespace {

constexpr mode_t kMode = 0600;

// Creates an empty file. Removes first what an earlier hook left at this path: a symlink there must
// not be written to.
bool make_at(const std::string& path) {
  ::unlink(path.c_str());
  return sys::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode)).valid();
}

// Returns the path of the memfd in /proc; "" without a memfd or /proc, or if /proc denies access.
std::string path_of(const sys::Fd& memory) {
  if (!memory.valid()) return {};
  std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory.get());
  const sys::Fd again(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  return again.valid() ? path : std::string();
}

}  // namespace

base::Result<HookFile> HookFile::make(const std::string& run_dir, std::string_view event) {
  const std::string name = "hook." + std::string(event) + ".env";
  if (!run_dir.empty() && make_at(run_dir + "/" + name)) {
    return HookFile(run_dir + "/" + name, sys::Fd());
  }
  sys::Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (std::string path = path_of(memory); !path.empty()) {
    return HookFile(std::move(path), std::move(memory));
  }
  for (const char* directory : {"/tmp", "/dev/shm"}) {
    std::string path = std::string(directory) + "/trainit-hook-XXXXXX";
    const sys::Fd made(::mkostemp(path.data(), O_CLOEXEC));
    if (made.valid()) return HookFile(std::move(path), sys::Fd());
  }
  return base::fail("making the file in which hooks export variables", "/tmp, /dev/shm",
                    sys::errno_text(errno), "set TRAINIT_RUN_DIR to a directory that is writable");
}

HookFile::~HookFile() {
  if (!path_.empty() && !memory_.valid()) ::unlink(path_.c_str());
}

base::Result<std::string> HookFile::read() const {
  auto failed = [this](std::string found) {
    return base::fail("reading what the hook exports", path_, std::move(found),
                      "append to the file in $TRAINIT_ENV, and leave it in its place");
  };
  const sys::Fd fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::string();
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return failed(sys::errno_text(errno));
  if (!S_ISREG(status.st_mode)) return failed("no regular file");
  std::string text;
  std::array<char, 65536> part;
  while (text.size() <= kMaxExportBytes) {
    const ssize_t count = ::read(fd.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(sys::errno_text(errno));
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace engine
