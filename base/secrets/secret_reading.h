#pragma once
// A text as its reader takes it: escapes of JSON, URLs and XML decoded, full-width signs and names
// of credentials in Chinese in ASCII, colours and characters without a width left out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

struct Reading {
  std::string text;
  std::vector<std::uint32_t> at;  // source offset of each character of `text`, and of its end
};

// Returns an empty reading if it would be `source` itself.
Reading reading_of(std::string_view source);

}  // namespace envgen
