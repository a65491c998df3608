#include "envgen/plan/sandbox.h"

#include <array>

namespace envgen {

std::string_view resource_name(int resource) {
  // Names in the kernel's order (asm-generic/resource.h), which x86 and arm64 share.
  static constexpr std::array<std::string_view, kResources> kNames = {
      "cpu",     "fsize", "data",  "stack",      "core",     "rss",  "nproc",  "nofile",
      "memlock", "as",    "locks", "sigpending", "msgqueue", "nice", "rtprio", "rttime"};
  const bool known = resource >= 0 && resource < kResources;
  return known ? kNames[static_cast<std::size_t>(resource)] : std::string_view{};
}

}  // namespace envgen
