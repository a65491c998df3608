#pragma once
// What is made gets the mode that is asked for, whatever the caller's umask: not by a chmod, which
// would take a parent's set-group-id bit away.

#include <sys/stat.h>

namespace sys {

// As long as it lives, for the whole process.
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
