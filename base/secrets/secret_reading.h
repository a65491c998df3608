#pragma once
// A text as its reader understands it. Escapes of JSON, URLs and XML are decoded. Full-width signs,
// and Chinese names of credentials, become ASCII. Colours and characters without a width are
// removed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace base {

struct Reading {
  std::string text;
  std::vector<std::uint32_t> at;  // source offset of each character of `text`, and of its end
};

// Returns an empty reading if it would be `source` itself.
Reading reading_of(std::string_view source);

}  // namespace base
