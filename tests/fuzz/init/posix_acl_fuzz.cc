// The first two bytes as a mode, the rest as an access control list: nobody gets more by it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "init/copy/posix_acl.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(posix_acl) {
  constexpr std::size_t kModeBytes = 2;
  constexpr std::uint32_t kGroupAndOthers = 077;
  if (size < kModeBytes) return 0;
  const std::uint32_t mode = data[0] | (std::uint32_t{data[1]} << 8U);
  const std::string_view acl(reinterpret_cast<const char*>(data) + kModeBytes, size - kModeBytes);
  const std::uint32_t left = copy::without_acl(mode, acl);
  if ((left & ~mode) != 0 || (mode & ~left & ~kGroupAndOthers) != 0) std::abort();
  return 0;
}
