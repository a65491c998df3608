#include "init/copy/publish/claim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/content_hash.h"
#include "init/copy/progress.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/tree_digest.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "copying";
constexpr int kLookMs = 100;

struct Seen {
  bool there = false;
  int error = 0;  // errno of reading the claim file
  std::string text;
  std::int64_t touched_ns = 0;

  bool operator==(const Seen&) const = default;
};

// Reads the claim file. Opens it each time, because on NFS only an open asks the server.
Seen read_claim(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return {};
  struct stat status{};
  std::array<char, 256> text{};
  const bool known = ::fstat(fd.get(), &status) == 0;
  const ssize_t size = read_kept(fd.get(), text.data(), text.size(), 0);
  return {.there = true,
          .error = size < 0 ? errno : 0,
          .text = std::string(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0),
          .touched_ns = known ? to_ns(status.st_mtim) : 0};
}

std::unexpected<base::Error> cannot_write(const std::string& path, int error) {
  return base::fail(kWhat, path, sys::errno_text(error), "name a place that may be written");
}

bool write_text(const std::string& path, const std::string& text, int flags) {
  const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  if (!fd.valid()) return false;
  errno = ENOSPC;  // a short write sets no errno
  return ::write(fd.get(), text.data(), text.size()) == std::ssize(text);
}

// Creates the claim file `path` with its whole content at once, through a hard link from `own`.
// Returns false with EEXIST if `path` exists.
bool make(const std::string& path, const std::string& own, const std::string& text) {
  const bool linked = write_text(own, text, O_TRUNC) && ::link(own.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(own.c_str());
  if (linked) return true;
  errno = error;
  if (error == EEXIST || error == ENOSPC || error == EDQUOT) return false;
  return write_text(path, text, O_EXCL);  // for a file system without hard links
}

}  // namespace

base::Result<Claim> Claim::take(const std::string& state, const Options& options,
                                const std::string& boot_id, const ClaimTimeouts& timeouts) {
  const std::string path = state + "/claim";
  if (boot_id.empty()) return Claim(path, "", 0);
  const std::string own = path + "-" + std::to_string(base::hash_of(boot_id));
  Claim claim(
      path,
      boot_id + " " + std::to_string(::getpid()) + " " + std::to_string(sys::monotonic_ms()) + "\n",
      timeouts.beat_ms);
  Seen before;
  std::int64_t since_ms = sys::monotonic_ms();
  for (;;) {
    if (make(path, own, claim.text_)) return claim;
    // On a full disk the claim is not valid. A published copy can still be found, but nothing can
    // be copied.
    if (errno == ENOSPC || errno == EDQUOT) return Claim(path, "", 0);
    if (errno != EEXIST) return cannot_write(path, errno);
    const Seen seen = read_claim(path);
    const std::int64_t now_ms = sys::monotonic_ms();
    if (seen != before) since_ms = now_ms;
    before = seen;
    const bool killed = seen.text.starts_with(boot_id + " ");
    // Takes an abandoned claim. A claim that was deleted meanwhile is made in the next loop. One
    // that cannot be read may stay so, and also becomes stale.
    if (killed || (seen.there && now_ms - since_ms >= timeouts.stale_ms)) {
      if (!write_text(own, claim.text_, O_TRUNC) || ::rename(own.c_str(), path.c_str()) != 0) {
        if (killed && (errno == ENOSPC || errno == EDQUOT)) return Claim(path, "", 0);
        return cannot_write(path, errno);
      }
      if (killed) return claim;
      claim.abandoned_ = true;
      sys::pause_ms(timeouts.settle_ms);
      if (claim.check()) return claim;
      claim.abandoned_ = false;
      continue;
    }
    if (options.deadline_ms != 0 && now_ms >= options.deadline_ms) {
      return base::fail(kWhat, state, "another machine that copies to the same place",
                        "give it more time");
    }
    const auto counters = SharedCounters::open(state + "/progress");
    if (options.waiting) options.waiting(counters ? &counters->get() : nullptr);
    sys::pause_ms(kLookMs);
  }
}

Claim::Claim(Claim&& other) noexcept
    : path_(std::move(other.path_)),
      text_(std::exchange(other.text_, "")),
      beat_ms_(other.beat_ms_),
      next_ms_(other.next_ms_),
      abandoned_(other.abandoned_) {}

Claim::~Claim() {
  if (!text_.empty() && check()) ::unlink(path_.c_str());
}

base::Status Claim::check() const {
  if (text_.empty()) return {};
  const Seen seen = read_claim(path_);
  if (seen.text == text_) return {};
  if (seen.error != 0) {
    return base::fail(kWhat, path_, sys::errno_text(seen.error), "see that it may be read");
  }
  return base::fail(kWhat, path_, "that another machine has taken over the place",
                    "let one machine copy to a place that several share");
}

base::Status Claim::keep() {
  auto ours = check();
  if (text_.empty() || !ours || sys::monotonic_ms() < next_ms_) return ours;
  next_ms_ = sys::monotonic_ms() + beat_ms_;
  ::utimensat(AT_FDCWD, path_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return {};
}

}  // namespace copy
