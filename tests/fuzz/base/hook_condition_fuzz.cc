// Whatever a hook begins with: nothing behind it is read, and a hook that would apply to nothing
// applies where one of its words holds.

#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hook_condition.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(hook_condition) {
  const std::vector<char> head(data, data + size);  // its end is seen by the sanitizers
  const auto bytes = static_cast<long>(size);
  int words = 0;
  const bool never =
      hook_condition::applies(head.data(), bytes, [&](auto /*need*/, const auto& /*word*/) {
        ++words;
        return false;
      });
  const bool always = hook_condition::applies(
      head.data(), bytes, [](auto /*need*/, const auto& /*word*/) { return true; });
  if (always != (never || words > 0)) ::abort();
  return 0;
}
