#include "init/copy/storage_call.h"

#include <cerrno>

#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {

bool is_storage_error(int error) {
  // The list contains the errors that are not the storage's. Errors of path walks, of rights, of
  // limits and of unsupported calls are the same on all file systems, so this list can be complete.
  // A list of the errors of drivers and network protocols cannot. To repeat a call needlessly only
  // costs time.
  switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EEXIST:
    case EXDEV:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOKEY:
    case ETXTBSY:
    case ENXIO:
    case EBADF:
    case EFAULT:
    case EINVAL:
    case EOVERFLOW:
    case ENODATA:
    case ERANGE:
    case E2BIG:
    case EOPNOTSUPP:
    case ENOSYS:
    case ENOTTY:
    case EMFILE:
    case EFBIG:
    case ENOSPC:
    case EDQUOT:
      return false;
    default:
      return true;
  }
}

std::string tried_text(int error) {
  std::string text = sys::errno_text(error);
  if (is_storage_error(error)) text += " at each of " + std::to_string(kMaxTries) + " tries";
  return text;
}

StorageCall::StorageCall(Waiting* waiting, CopySide side) : waiting_(waiting) {
  if (waiting_ != nullptr) before_ = waiting_->side.exchange(side, std::memory_order_relaxed);
}

StorageCall::~StorageCall() {
  if (waiting_ == nullptr) return;
  waiting_->side.store(before_, std::memory_order_relaxed);
  waiting_->step();
}

bool StorageCall::again() {
  constexpr int kFirstMs = 200;
  const int error = errno;
  if (!is_storage_error(error) || tries_ == kMaxTries) return false;
  sys::sleep_ms(kFirstMs << (tries_ - 1));
  ++tries_;
  errno = error;
  return true;
}

}  // namespace copy
