#pragma once
// Bytes as base64 (RFC 4648, with padding), for JSON.

#include <optional>
#include <string>
#include <string_view>

namespace envgen {

std::string to_base64(std::string_view bytes);
// Nothing where another character stands before the padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace envgen
