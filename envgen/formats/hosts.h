#pragma once
// Host lists as platforms inject them: "a,b", "a:2222,b:2222", "[a:1,b:2]", one per line.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

struct HostPort {
  std::string host;  // IPv6 without its brackets
  int port = 0;      // 0 = none was given

  bool operator==(const HostPort&) const = default;
};

// "host", "host:2222", "[fd00::2]:2222", "fd00::2". Nothing when it is none of them.
std::optional<HostPort> parse_host_port(std::string_view text);

// Separated by commas, blanks or newlines; one pair of brackets around all of it is taken off, and
// quotes around each. `where` is the variable or file, for errors. A host that stands twice is an
// error unless its ports differ.
Result<std::vector<HostPort>> parse_host_list(std::string_view text, std::string_view where);

// Refuses a list in which another node stands at this node's place: one of `own` (its names and
// addresses) stands elsewhere in it, or is missing from names that count like it ("job-worker-3").
// A list in another kind of names says nothing about that, and passes. `index` is within it.
Status check_own_place(const std::vector<HostPort>& hosts, std::size_t index,
                       const std::vector<std::string>& own, std::string_view where);

// Returns whether `host` has the form of an IPv4 or IPv6 address, not of a name; true for "".
bool is_address(std::string_view host);

// Returns the first label of a name: "job-worker-3" of "job-worker-3.job"; of an address, all of
// it.
std::string_view label_of(std::string_view host);

// Whether a name or address without a port stands for the machine that uses it: localhost and
// 127.*, and 0.0.0.0, which connects there.
bool is_loopback(std::string_view host);

// "host:port" with brackets around an IPv6 address; "host" without a port.
std::string to_text(const HostPort& host);

}  // namespace envgen
