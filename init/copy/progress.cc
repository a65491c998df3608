#include "init/copy/progress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <tuple>
#include <utility>

#include "init/sys/files.h"

namespace copy {
namespace {

void take_over(const Counters& from, Counters& to) {
  constexpr auto kOrder = std::memory_order_relaxed;
  to.phase.store(from.phase.load(kOrder), kOrder);
  to.started_ms.store(from.started_ms.load(kOrder), kOrder);
  to.entries.store(from.entries.load(kOrder), kOrder);
  to.bytes.store(from.bytes.load(kOrder), kOrder);
  to.kept_entries.store(from.kept_entries.load(kOrder), kOrder);
  to.kept_bytes.store(from.kept_bytes.load(kOrder), kOrder);
  to.total_entries.store(from.total_entries.load(kOrder), kOrder);
  to.total_bytes.store(from.total_bytes.load(kOrder), kOrder);
  to.stalled_side.store(from.stalled_side.load(kOrder), kOrder);
  to.stalled_ms.store(from.stalled_ms.load(kOrder), kOrder);
}

}  // namespace

const char* phase_name(Phase phase) {
  constexpr auto kNames =
      std::to_array({"scanning", "copying", "checking", "syncing", "publishing", "done"});
  const auto at = static_cast<std::size_t>(phase);
  return at < kNames.size() ? kNames.at(at) : "unknown";
}

base::Result<SharedCounters> SharedCounters::anonymous() {
  void* memory =
      ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return SharedCounters(static_cast<Counters*>(memory));
  return base::fail("sharing the progress of a copy", "", sys::errno_text(errno),
                    "give the container more memory");
}

base::Result<SharedCounters> SharedCounters::create(const std::string& path) {
  auto counters = anonymous();
  if (!counters) return counters;
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  counters->file_.reset(::open(path.c_str(), kFlags, 0644));
  struct stat status{};
  if (counters->file_.valid() && ::fstat(counters->file_.get(), &status) == 0 &&
      !S_ISREG(status.st_mode)) {
    return base::fail("writing the progress of a copy", path, "no regular file", "remove it");
  }
  const Counters none{};
  const bool written = counters->file_.valid() && ::pwrite(counters->file_.get(), &none,
                                                           sizeof none, 0) == ssize_t{sizeof none};
  if (!written) {
    return base::fail("writing the progress of a copy", path, sys::errno_text(errno),
                      "make room there, and let it be written");
  }
  return counters;
}

base::Result<SharedCounters> SharedCounters::open(const std::string& path) {
  constexpr const char* kWhat = "reading the progress of a copy";
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return base::fail(kWhat, path, sys::errno_text(errno), "");
  }
  if (!S_ISREG(status.st_mode)) return base::fail(kWhat, path, "no regular file", "");
  auto counters = anonymous();
  if (!counters) return counters;
  if (::pread(file.get(), counters->counters_, sizeof(Counters), 0) != ssize_t{sizeof(Counters)}) {
    return base::fail(kWhat, path, "no such counters", "");
  }
  return counters;
}

void SharedCounters::save() const {
  if (!file_.valid()) return;
  Counters now{};
  take_over(*counters_, now);
  // Best effort: after a failed write, readers of the file see the previous counters.
  std::ignore = ::pwrite(file_.get(), &now, sizeof now, 0);
}

SharedCounters::SharedCounters(SharedCounters&& other) noexcept
    : counters_(std::exchange(other.counters_, nullptr)), file_(std::move(other.file_)) {}

SharedCounters& SharedCounters::operator=(SharedCounters&& other) noexcept {
  if (this != &other) {
    std::swap(counters_, other.counters_);
    std::swap(file_, other.file_);
  }
  return *this;
}

SharedCounters::~SharedCounters() {
  if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
}

}  // namespace copy
