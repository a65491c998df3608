#pragma once
// Creates files with an exact mode, whatever the caller's umask is. A chmod afterwards would clear
// a set-group-id bit that a directory inherits from its parent.

#include <sys/stat.h>

namespace sys {

// Sets the umask of the whole process to 0 while the object exists.
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
