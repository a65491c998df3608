// A line of a copy's manifest: what is read is written as it was read from, and read again the
// same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "init/copy/manifest.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(manifest) {
  const auto line =
      copy::parse_manifest_line(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!line) return 0;
  std::string text;
  copy::append_line(text, *line);
  if (text.find('\n') != text.size() - 1) std::abort();
  text.pop_back();
  if (copy::parse_manifest_line(text) != line) std::abort();
  return 0;
}
