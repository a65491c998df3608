#include "init/sys/boot.h"

#include "init/sys/files.h"

namespace sys {

std::string boot_id() {
  std::string text = inspect("/proc/sys/kernel/random/boot_id", true).content;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace sys
