#pragma once
// A text as a person would read it. Escapes of JSON, URLs and XML are decoded. Full-width signs,
// and Chinese names of credentials, are replaced by ASCII. Colours, and characters without a width,
// are removed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace base {

struct Reading {
  std::string text;
  std::vector<std::uint32_t> at;  // offset in the source of each character of `text`, and of the
                                  // end
};

// Returns the reading of `source`. Returns an empty reading if it would equal `source`.
Reading reading_of(std::string_view source);

}  // namespace base
