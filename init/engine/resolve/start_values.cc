#include "init/engine/resolve/start_values.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/plan/launch.h"
#include "init/proc/host_address.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

// Returns a port that no socket uses at any address; 0: none was found. The port is not reserved,
// so another process can still take it (torchrun does the same).
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

constexpr std::int64_t kLookupMs = 5000;
constexpr int kAgainMs = 1000;

bool is_of_ipv4(const std::string& address) { return address.find(':') == std::string::npos; }

// Returns the first IPv4 address, because MindSpore accepts no other; "": none.
std::string first_of(const std::vector<std::string>& addresses) {
  const auto found = std::ranges::find_if(addresses, is_of_ipv4);
  return found == addresses.end() ? "" : *found;
}

// Returns the address to use for the scheduler, from the addresses of its name; "": none.
std::string address_of(const std::vector<std::string>& found, const envgen::Snapshot& base,
                       envgen::Plan& plan) {
  // If the name is a loopback name, all nodes are on this machine.
  if (envgen::is_loopback(plan.scheduler->host)) return "127.0.0.1";
  std::string address = first_of(found);
  if (!plan.scheduler->here || address.empty()) return address;
  const std::vector<std::string>& own = base.facts.addresses;
  for (const std::string& each : found) {
    if (is_of_ipv4(each) && std::ranges::find(own, each) != own.end()) return each;
  }
  std::string here = first_of(own);
  if (here.empty()) return address;
  plan.warnings.push_back(plan.scheduler->host + " leads to " + address +
                          ", which no interface of this node has: the scheduler listens at " +
                          here);
  return here;
}

void put_address(const std::string& address, envgen::Plan& plan) {
  constexpr std::string_view kFlag = "--master_addr=";
  for (envgen::Process& process : plan.processes) {
    for (std::string& word : process.argv) {
      if (word.starts_with(kFlag) && word.substr(kFlag.size()) == plan.scheduler->host) {
        word = base::concat({kFlag, address});
      }
    }
  }
  envgen::set_of_processes(plan, "MS_SCHED_HOST", address);
  plan.scheduler.reset();
}

}  // namespace

base::Status fill_scheduler(envgen::Plan& plan, const envgen::Snapshot& base,
                            std::int64_t timeout_ms,
                            const std::function<void(const std::string&)>& say,
                            const std::string& hosts_file) {
  if (!plan.scheduler) return {};
  const std::int64_t deadline_ms = sys::monotonic_ms() + timeout_ms;
  while (true) {
    auto found = proc::find_addresses(plan.scheduler->host, base.env, kLookupMs, hosts_file);
    if (!found) return std::unexpected(found.error());
    const std::string address = address_of(found->addresses, base, plan);
    if (!address.empty()) {
      put_address(address, plan);
      return {};
    }
    std::string why = found->addresses.empty() ? found->why : "it has no IPv4 address";
    if (sys::monotonic_ms() >= deadline_ms) {
      return base::fail("finding the address of MindSpore's scheduler", plan.scheduler->host,
                        std::move(why), "check the name, or give --master-addr ADDRESS");
    }
    say("the address of MindSpore's scheduler, " + plan.scheduler->host + ": " + why);
    sys::pause_ms(kAgainMs);
  }
}

void fill_start_values(envgen::Plan& plan, std::uint32_t restarts) {
  envgen::set_of_processes(plan, "TORCHELASTIC_RESTART_COUNT", std::to_string(restarts));
  if (!plan.free_master_port) return;
  if (const int port = free_port(); port != 0) {
    const std::string text = std::to_string(port);
    for (const std::string_view name : envgen::kFreePortVariables) {
      envgen::set_of_processes(plan, name, text);
    }
    envgen::set_of_processes(plan, envgen::kFreeAddressVariable, "127.0.0.1:" + text);
    plan.free_master_port = false;
  } else {
    plan.warnings.emplace_back("no port is free for the ranks to meet at: they try the usual one");
  }
}

}  // namespace engine
