// Checks of RDMA as NCCL and HCCL will use it: InfiniBand and RoCE, by /sys/class/infiniband
// (https://docs.kernel.org/admin-guide/abi-stable.html, sysfs-class-infiniband).

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "init/doctor/checks.h"
#include "init/doctor/machine.h"

namespace doctor {
namespace {

constexpr const char* kPorts = "/sys/class/infiniband/";

// Returns the word after the number: "ACTIVE" for "4: ACTIVE".
std::string_view word_of(std::string_view text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string_view::npos ? text : text.substr(colon + 2);
}

struct Ports {
  std::vector<std::string> active;
  std::vector<std::string> down;                           // "mlx5_1 port 1 (DOWN, Polling)"
  std::map<std::uint64_t, std::vector<std::string>> mtus;  // network devices of RoCE by their MTU
};

void read_mtus(const Context& context, const std::string& device, Ports& ports) {
  for (const std::string& name : names_in(context, kPorts + device + "/device/net")) {
    const auto mtu = number_in(text_of(context, "/sys/class/net/" + name + "/mtu"));
    if (mtu) ports.mtus[*mtu].push_back(name);
  }
}

void read_ports(const Context& context, const std::string& device, Ports& ports) {
  for (const std::string& number : names_in(context, kPorts + device + "/ports")) {
    const std::string port = kPorts + device + "/ports/" + number;
    const std::string state = text_of(context, port + "/state");
    const std::string name = device + " port " + number;
    if (word_of(state) == "ACTIVE") {
      ports.active.push_back(name);
      if (text_of(context, port + "/link_layer") == "Ethernet") read_mtus(context, device, ports);
    } else if (!state.empty()) {
      const std::string physical = text_of(context, port + "/phys_state");
      ports.down.push_back(name + " (" + std::string(word_of(state)) + ", " +
                           std::string(word_of(physical)) + ")");
    }
  }
}

void check_mtus(const Ports& ports, Results& results) {
  constexpr std::uint64_t kFull = 4200;  // the MTU for RDMA's maximum of 4096 bytes plus headers
  if (ports.mtus.empty()) return;
  if (ports.mtus.size() > 1) {
    std::vector<std::string> each;
    each.reserve(ports.mtus.size());
    for (const auto& [mtu, names] : ports.mtus) {
      each.push_back(listed(names) + " has " + std::to_string(mtu));
    }
    results.push_back(warning("the MTUs differ: " + listed(each),
                              "give all of them, and the switches, the same"));
  } else if (ports.mtus.begin()->first < kFull) {
    results.push_back(warning("the MTU is " + std::to_string(ports.mtus.begin()->first) +
                                  ", so that RDMA cannot use packets of 4096 bytes",
                              "set it to 4200 or more, up to 9000, on the host and the switches"));
  }
}

}  // namespace

Results check_rdma(const Context& context) {
  Ports ports;
  for (const std::string& device : names_in(context, "/sys/class/infiniband")) {
    read_ports(context, device, ports);
  }
  if (ports.active.empty() && ports.down.empty()) return {skipped("there is no RDMA device")};
  Results results;
  for (const std::string& port : ports.down) {
    results.push_back(warning(port + " is not active",
                              "see its cable, its switch, and for InfiniBand its subnet manager"));
  }
  check_mtus(ports, results);
  if (results.empty()) results.push_back(ok(listed(ports.active) + " active"));
  return results;
}

}  // namespace doctor
