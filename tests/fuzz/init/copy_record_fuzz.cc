// Any bytes as the record of a copy: what is accepted is written and read as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "init/copy/copy_record.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(copy_record) {
  const auto record =
      copy::parse_record({reinterpret_cast<const char*>(data), size}, "record.json");
  if (!record) return 0;
  const auto again = copy::parse_record(copy::record_to_json(*record), "record.json");
  if (!again || *again != *record) std::abort();
  return 0;
}
