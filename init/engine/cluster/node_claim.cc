#include "init/engine/cluster/node_claim.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "init/sys/clock.h"

namespace engine {
namespace {

// Waiting connections of processes that ask who has the claim; none is accepted.
constexpr int kBacklog = 4096;
constexpr int kMaxLooks = 40;  // attempts, 5 ms apart, until listen(2) follows bind(2)

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Address address_of(const envgen::Plan& plan) {
  std::string key = "trainit-node-" + std::to_string(plan.claim);
  struct stat pids{};
  if (!plan.link && ::stat("/proc/self/ns/pid", &pids) == 0) {
    key += '-' + std::to_string(pids.st_ino);
  }
  Address address;
  address.name.sun_family = AF_UNIX;
  // The first byte stays 0: an abstract name.
  std::memcpy(address.name.sun_path + 1, key.data(), key.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + key.size());
  return address;
}

sys::Fd stream() {
  return sys::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Returns the pid of the process that has the claim, from the credentials of its listen(2). Returns
// nullopt if that process is another user's, or has exited and left the socket to a child that is
// about to exit. `is_bound`: the claim is taken, so wait for the holder's listen(2) after its
// bind(2).
std::optional<pid_t> holder_of(const Address& address, bool is_bound) {
  const sys::Fd asks = stream();
  int looks = is_bound ? kMaxLooks : 1;
  while (::connect(asks.get(), address.get(), address.size) != 0) {
    if (errno != ECONNREFUSED || --looks == 0) return std::nullopt;
    sys::pause_ms(5);
  }
  ucred holder{};
  socklen_t size = sizeof holder;
  if (::getsockopt(asks.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) != 0) return std::nullopt;
  if (holder.uid != 0 && holder.uid != ::geteuid()) return std::nullopt;
  if (holder.pid > 0 && ::kill(holder.pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return holder.pid;  // 0: the process is in another PID namespace
}

base::Status refuse(const envgen::Plan& plan, pid_t holder) {
  const std::string who = holder > 0 ? "trainit with pid " + std::to_string(holder)
                                     : std::string("another trainit on this host");
  return base::fail(
      "starting the ranks of this node",
      "node " + std::to_string(plan.local_node ? plan.local_node->node_rank : 0),
      who + " runs the same ranks of the same job",
      std::string("start trainit once on each node; if this is a second job, give it another ") +
          (plan.link ? "--master-port" : "TRAINIT_RUN_DIR"));
}

}  // namespace

base::Status NodeClaim::look(const envgen::Plan& plan) {
  if (plan.claim == 0) return {};
  const auto holder = holder_of(address_of(plan), false);
  return holder ? refuse(plan, *holder) : base::Status();
}

base::Status NodeClaim::take(const envgen::Plan& plan) {
  if (plan.claim == 0 || socket_.valid()) return {};
  const Address address = address_of(plan);
  sys::Fd socket = stream();
  if (!socket.valid()) return {};
  if (::bind(socket.get(), address.get(), address.size) == 0) {
    if (::listen(socket.get(), kBacklog) == 0) socket_ = std::move(socket);
    return {};
  }
  if (errno != EADDRINUSE) return {};
  const auto holder = holder_of(address, true);
  return holder ? refuse(plan, *holder) : base::Status();
}

}  // namespace engine
