#pragma once
// Network interfaces selected by a variable of a communication library.

#include <string>
#include <string_view>
#include <vector>

namespace doctor {

// The interfaces that a list selects. In NCCL_SOCKET_IFNAME and HCCL_SOCKET_IFNAME "eth,ib" are
// prefixes, "=eth0" is a complete name, and "^lo,docker" (HCCL: "!") selects all others. With
// `exact` (GLOO_SOCKET_IFNAME and similar variables) all items are complete names.
struct NamedInterfaces {
  std::vector<std::string> chosen;   // the selected interfaces
  std::vector<std::string> missing;  // items that match no interface
};
NamedInterfaces named_interfaces(std::string_view list, bool exact,
                                 const std::vector<std::string>& interfaces);

}  // namespace doctor
