#pragma once
// The network interfaces that a variable of a communication library names.

#include <string>
#include <string_view>
#include <vector>

namespace doctor {

// NCCL_SOCKET_IFNAME and HCCL_SOCKET_IFNAME: "eth,ib" are beginnings of names, "=eth0" whole ones,
// "^lo,docker" (HCCL: "!") all others. `exact`: GLOO_SOCKET_IFNAME and the like, whole names alone.
struct NamedInterfaces {
  std::vector<std::string> chosen;   // of the interfaces
  std::vector<std::string> missing;  // items without one
};
NamedInterfaces named_interfaces(std::string_view list, bool exact,
                                 const std::vector<std::string>& interfaces);

}  // namespace doctor
