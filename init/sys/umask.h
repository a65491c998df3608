#pragma once
// File creation with the exact mode, whatever the caller's umask. A chmod afterwards would clear a
// set-group-id bit that comes from the parent.

#include <sys/stat.h>

namespace sys {

// A umask of 0 for the whole process while the object exists.
class NoUmask {
 public:
  NoUmask() : before_(::umask(0)) {}
  ~NoUmask() { ::umask(before_); }
  NoUmask(const NoUmask&) = delete;
  NoUmask& operator=(const NoUmask&) = delete;

 private:
  mode_t before_;
};

}  // namespace sys
