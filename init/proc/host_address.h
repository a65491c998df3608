#pragma once
// The addresses of a host name, without getaddrinfo, which a static program does not have. The
// sources, in order: the name itself if it is an address, /etc/hosts, and the image's own `getent`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace proc {

struct HostAddresses {
  std::vector<std::string> addresses;  // numeric; empty while the name is unknown
  std::string why;                     // reason, if `addresses` is empty
};

// Finds the addresses of `host`. Blocks while getent runs, at most `limit_ms`; `start` as in
// privileged.h. Fails if the name is neither an address nor in /etc/hosts and getent cannot be run:
// a retry does not help.
base::Result<HostAddresses> find_addresses(const std::string& host, const base::Environ& start,
                                           std::int64_t limit_ms,
                                           const std::string& hosts_file = "/etc/hosts");

// Returns whether the text is an address: "fd00::2", "10.0.0.1", "fe80::1%eth0".
bool is_address(std::string_view text);

// Return the addresses in a hosts file or in the output of getent, each once, in their order. Names
// compare without case.
std::vector<std::string> addresses_in_hosts(std::string_view hosts_text, std::string_view host);
std::vector<std::string> addresses_in_getent(std::string_view output);

}  // namespace proc
