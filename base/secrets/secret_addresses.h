#pragma once
// Functions that mask credentials in addresses, such as URLs.

#include <string>
#include <string_view>

namespace base {

// Masks the credentials of each address in `text`: "scheme://user:password@host" ->
// "scheme://***@host". Also masks the token in conda's "https://host/t/TOKEN/channel".
std::string mask_url_credentials(std::string_view text);

// Masks the credentials that mask_url_credentials() masks, also secrets in webhook addresses, and
// "user:password@host" without a scheme.
std::string mask_addresses(std::string_view text);

}  // namespace base
