#pragma once
// Base64 encoding of bytes for JSON (RFC 4648, with padding).

#include <optional>
#include <string>
#include <string_view>

namespace base {

std::string to_base64(std::string_view bytes);
// Returns nullopt if `text` has a character outside the alphabet before its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace base
