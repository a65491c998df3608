// Any bytes as the record of a copy: what is accepted is written and read as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "init/copy/copy_record.h"

// libFuzzer's name.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record =
      envgen::parse_record({reinterpret_cast<const char*>(data), size}, "record.json");
  if (!record) return 0;
  const auto again = envgen::parse_record(envgen::record_to_json(*record), "record.json");
  if (!again || *again != *record) std::abort();
  return 0;
}
