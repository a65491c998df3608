#include "init/engine/resolve/start_values.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "envgen/plan/launch.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

// One that no socket has, at whichever address; 0 = none was found. Nobody holds it from here on,
// as with torchrun.
int free_port() {
  const sys::Fd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (six.valid()) {
    const int no = 0;
    ::setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(six.get(), generic, size) == 0 && ::getsockname(six.get(), generic, &size) == 0) {
      return ntohs(address.sin6_port);
    }
  }
  const sys::Fd four(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!four.valid() || ::bind(four.get(), generic, size) != 0) return 0;
  return ::getsockname(four.get(), generic, &size) == 0 ? ntohs(address.sin_port) : 0;
}

}  // namespace

void fill_start_values(envgen::Plan& plan, std::uint32_t restarts) {
  envgen::set_of_processes(plan, "TORCHELASTIC_RESTART_COUNT", std::to_string(restarts));
  if (!plan.free_master_port) return;
  if (const int port = free_port(); port != 0) {
    const std::string text = std::to_string(port);
    for (const char* name : {"MASTER_PORT", "JAX_COORDINATOR_PORT"}) {
      envgen::set_of_processes(plan, name, text);
    }
    envgen::set_of_processes(plan, "JAX_COORDINATOR_ADDRESS", "127.0.0.1:" + text);
  } else {
    plan.warnings.emplace_back("no port is free for the ranks to meet at: they try the usual one");
  }
}

}  // namespace engine
