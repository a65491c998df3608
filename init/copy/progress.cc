#include "init/copy/progress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "init/sys/files.h"

namespace copy {
namespace {

envgen::Result<Counters*> map(int fd, int protection, int flags, const std::string& where) {
  void* memory = ::mmap(nullptr, sizeof(Counters), protection, MAP_SHARED | flags, fd, 0);
  if (memory == MAP_FAILED) {
    return envgen::fail("sharing the progress of a copy", where, sys::errno_text(errno),
                        "give the container more memory");
  }
  return static_cast<Counters*>(memory);
}

}  // namespace

const char* phase_name(Phase phase) {
  constexpr std::array kNames = {"scanning", "copying",    "checking",
                                 "syncing",  "publishing", "done"};
  const auto at = static_cast<std::size_t>(phase);
  return at < kNames.size() ? kNames.at(at) : "unknown";
}

envgen::Result<SharedCounters> SharedCounters::anonymous() {
  auto counters = map(-1, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, "");
  if (!counters) return std::unexpected(counters.error());
  return SharedCounters(*counters);
}

envgen::Result<SharedCounters> SharedCounters::create(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  // A hole would be filled by the first store, and a full disk be a SIGBUS.
  const Counters none{};
  const bool written =
      file.valid() && ::pwrite(file.get(), &none, sizeof none, 0) == ssize_t{sizeof none};
  if (!written) {
    return envgen::fail("writing the progress of a copy", path, sys::errno_text(errno),
                        "make room there, and let it be written");
  }
  auto counters = map(file.get(), PROT_READ | PROT_WRITE, 0, path);
  if (!counters) return std::unexpected(counters.error());
  return SharedCounters(*counters);
}

envgen::Result<SharedCounters> SharedCounters::open(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return envgen::fail("reading the progress of a copy", path, sys::errno_text(errno), "");
  }
  if (!S_ISREG(status.st_mode) || status.st_size < off_t{sizeof(Counters)}) {
    return envgen::fail("reading the progress of a copy", path, "no such counters", "");
  }
  auto counters = map(file.get(), PROT_READ, 0, path);
  if (!counters) return std::unexpected(counters.error());
  return SharedCounters(*counters);
}

SharedCounters::SharedCounters(SharedCounters&& other) noexcept
    : counters_(std::exchange(other.counters_, nullptr)) {}

SharedCounters& SharedCounters::operator=(SharedCounters&& other) noexcept {
  if (this != &other) std::swap(counters_, other.counters_);
  return *this;
}

SharedCounters::~SharedCounters() {
  if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
}

}  // namespace copy
