#pragma once
// A parser for host lists as platforms set them: "a,b", "a:2222,b:2222", "[a:1,b:2]", one host per
// line.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

struct HostPort {
  std::string host;  // IPv6 without its brackets
  int port = 0;      // 0: not given

  bool operator==(const HostPort&) const = default;
};

// Parses "host", "host:2222", "[fd00::2]:2222" or "fd00::2". Returns nullopt for any other text.
std::optional<HostPort> parse_host_port(std::string_view text);

// Parses a list separated by commas, blanks or newlines. Removes one pair of brackets around the
// list, and quotes around each host. `where` is the variable or file, for errors. A duplicate host
// is an error unless the ports differ.
base::Result<std::vector<HostPort>> parse_host_list(std::string_view text, std::string_view where);

// Fails if the host at `index` of a list is certainly not this node. `own` has this node's names
// and addresses. There are two proofs. The first: one of `own` is at another index. The second:
// `own` has a name that differs from the host at `index` only in its number ("job-worker-3"), and
// the list contains none of `own`. Other kinds of names prove nothing and are accepted. Requires
// that `index` is within the list.
base::Status check_own_place(const std::vector<HostPort>& hosts, std::size_t index,
                             const std::vector<std::string>& own, std::string_view where);

// Returns true if `host` has the form of an IPv4 or IPv6 address and not of a name. Also true for
// "".
bool is_address(std::string_view host);

// Returns the first label of a name: "job-worker-3" for "job-worker-3.job". Returns an address
// unchanged.
std::string_view label_of(std::string_view host);

// Returns true for a name or address of the machine itself: localhost, 127.*, ::1. The unspecified
// addresses 0.0.0.0 and :: are included, because connections to them are local. `host` has no port.
bool is_loopback(std::string_view host);

// Returns "host:port", with brackets around an IPv6 address. Without a port, returns "host".
std::string to_text(const HostPort& host);

}  // namespace envgen
