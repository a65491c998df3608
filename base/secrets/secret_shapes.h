#pragma once
// Credentials that are recognized by their form, without a name.

#include <string_view>

namespace base {

// Returns true for a token that begins like the tokens of a known service: "hf_...", "ghp_...",
// "AKIA...".
bool has_known_shape(std::string_view word);

}  // namespace base
