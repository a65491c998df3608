#pragma once
// Finds the network interfaces that a variable of a communication library selects.

#include <string>
#include <string_view>
#include <vector>

namespace doctor {

// The result for a variable's list. In NCCL_SOCKET_IFNAME and HCCL_SOCKET_IFNAME, "eth,ib" are
// beginnings of names, "=eth0" is a whole name, and "^lo,docker" (HCCL: "!") selects all others.
// With `exact` (GLOO_SOCKET_IFNAME and similar variables) all items are whole names.
struct NamedInterfaces {
  std::vector<std::string> chosen;   // the selected interfaces
  std::vector<std::string> missing;  // items of the list that match no interface
};
NamedInterfaces named_interfaces(std::string_view list, bool exact,
                                 const std::vector<std::string>& interfaces);

}  // namespace doctor
