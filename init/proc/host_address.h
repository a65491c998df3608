#pragma once
// Finds the addresses of a host name. It does not use getaddrinfo, which a static program does not
// have. The sources are, in order: the name itself if it is an address, /etc/hosts, and the program
// `getent` of the image.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace proc {

struct HostAddresses {
  std::vector<std::string> addresses;  // as numbers; empty: no address is known yet
  std::string why;                     // why `addresses` is empty
};

// Finds the addresses of `host`. Blocks while getent runs, at most `limit_ms`. `start` is as in
// privileged.h. Fails if the name is not an address, is not in /etc/hosts, and getent cannot be
// run. Another try does not help then.
base::Result<HostAddresses> find_addresses(const std::string& host, const base::Environ& start,
                                           std::int64_t limit_ms,
                                           const std::string& hosts_file = "/etc/hosts");

// Returns true if the text is an address: "fd00::2", "10.0.0.1", "fe80::1%eth0".
bool is_address(std::string_view text);

// Return the addresses of `host` in a hosts file, or those in the output of getent. Each address
// occurs once, in the order of the text. Upper and lower case of names are equal.
std::vector<std::string> addresses_in_hosts(std::string_view hosts_text, std::string_view host);
std::vector<std::string> addresses_in_getent(std::string_view output);

}  // namespace proc
