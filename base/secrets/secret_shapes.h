#pragma once
// Credentials that are known without a name.

#include <string_view>

namespace envgen {

// True for a token that begins as a service's tokens do: "hf_...", "ghp_...", "AKIA...".
bool has_known_shape(std::string_view word);

}  // namespace envgen
