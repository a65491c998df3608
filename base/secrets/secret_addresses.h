#pragma once
// Credentials in addresses.

#include <string>
#include <string_view>

namespace envgen {

// "scheme://user:password@host" -> "scheme://***@host", wherever it stands in `text`; also conda's
// "https://host/t/TOKEN/channel".
std::string mask_url_credentials(std::string_view text);

// What mask_url_credentials does, and "user:password@host" without a scheme.
std::string mask_addresses(std::string_view text);

}  // namespace envgen
