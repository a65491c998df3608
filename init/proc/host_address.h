#pragma once
// The addresses of a host's name, without getaddrinfo, which a static program does not have: the
// address itself, /etc/hosts, else what the image's own `getent` answers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace proc {

struct HostAddresses {
  std::vector<std::string> addresses;  // numeric; empty: the name is not known, or not yet
  std::string why;                     // when there are none
};

// Blocks for as long as getent takes, `limit_ms` at most; `start` as in privileged.h. Fails when
// there is no getent and the name is neither an address nor in /etc/hosts: that does not get better
// by itself.
envgen::Result<HostAddresses> find_addresses(const std::string& host, const envgen::Environ& start,
                                             std::int64_t limit_ms,
                                             const std::string& hosts_file = "/etc/hosts");

// Of "fd00::2", "10.0.0.1", "fe80::1%eth0" and the like.
bool is_address(std::string_view text);

// What these two say, each address once, in their order. Names compare without case.
std::vector<std::string> addresses_in_hosts(std::string_view hosts_text, std::string_view host);
std::vector<std::string> addresses_in_getent(std::string_view output);

}  // namespace proc
