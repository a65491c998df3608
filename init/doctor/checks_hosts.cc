// Checks of the job's other nodes: whether their names can be resolved, and whether the nodes
// answer.

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/proc/host_address.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

constexpr std::size_t kShards = 8;      // processes, unless kMaxPeers requires more
constexpr std::size_t kMaxPeers = 500;  // limit for nodes per process, as each needs a descriptor
constexpr std::int64_t kNameMs = 5000;

// Calls `examine` for each node, divided among several processes.
Results in_shards(const Context& context,
                  Results (*examine)(const Context&, std::span<const OtherNode>)) {
  std::vector<Part> parts;
  const std::size_t size =
      std::min((context.other_nodes.size() + kShards - 1) / kShards, kMaxPeers);
  const std::span<const OtherNode> all = context.other_nodes;
  for (std::size_t first = 0; first < all.size(); first += size) {
    const auto shard = all.subspan(first, std::min(size, all.size() - first));
    parts.push_back({.check = {}, .place = shard.front().host, .run = [&context, shard, examine] {
                       return examine(context, shard);
                     }});
  }
  return run_all(parts, context.limit_ms * 9 / 10);
}

std::int64_t deadline_of(const Context& context) {
  return sys::monotonic_ms() + context.limit_ms * 8 / 10;
}

Results names_known(const Context& context, std::span<const OtherNode> other_nodes) {
  const std::int64_t deadline_ms = deadline_of(context);
  Results results;
  for (const OtherNode& node : other_nodes) {
    const std::int64_t left_ms = std::min(kNameMs, deadline_ms - sys::monotonic_ms());
    if (left_ms <= 0) {
      results.push_back(failed("there was no time left to ask for it", "", node.host));
      continue;
    }
    auto found =
        proc::find_addresses(node.host, context.start, left_ms, context.root + "/etc/hosts");
    if (!found) {
      results.push_back(skipped(found.error().found, node.host));
    } else if (found->addresses.empty()) {
      results.push_back(failed(found->why, "", node.host));
    } else {
      results.push_back(ok(found->addresses.front(), node.host));
    }
  }
  return results;
}

struct Try {
  const OtherNode* node = nullptr;
  sys::Fd socket;
  std::string fault;
  bool unknown = false;  // the image cannot resolve the name
  bool done = false;
};

// Starts a connection by IPv4 or IPv6. Returns an invalid descriptor, with errno, if that is not
// possible.
sys::Fd begin_connect(const std::string& address, int port) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  const std::size_t zone = address.find('%');
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.substr(0, zone).c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    if (zone != std::string::npos) v6->sin6_scope_id = ::if_nametoindex(&address[zone + 1]);
    size = sizeof *v6;
  }
  sys::Fd socket(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0 &&
      errno != EINPROGRESS && errno != ECONNREFUSED) {
    const int error = errno;
    socket.reset();
    errno = error;
  }
  return socket;
}

void begin(const Context& context, std::int64_t deadline_ms, Try& one) {
  const std::int64_t left_ms = std::min(kNameMs, deadline_ms - sys::monotonic_ms());
  one.done = true;
  if (left_ms <= 0) {
    one.fault = "there was no time left to ask for its name";
    return;
  }
  auto found =
      proc::find_addresses(one.node->host, context.start, left_ms, context.root + "/etc/hosts");
  if (!found || found->addresses.empty()) {
    one.unknown = !found;
    one.fault = found ? found->why : "its name cannot be resolved in this image";
    return;
  }
  one.socket = begin_connect(found->addresses.front(), one.node->port);
  one.done = !one.socket.valid();
  if (one.done) one.fault = sys::errno_text(errno);
}

void look(Try& one) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(one.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  one.done = true;
  // A refusal because no process listens also means that the node is alive.
  if (error != 0 && error != ECONNREFUSED && error != ECONNRESET) {
    one.fault = sys::errno_text(error);
  }
}

void await(std::vector<Try>& tries, std::int64_t deadline_ms) {
  while (true) {
    std::vector<pollfd> waits;
    std::vector<Try*> open;
    waits.reserve(tries.size());
    open.reserve(tries.size());
    for (Try& one : tries) {
      if (one.done) continue;
      waits.push_back({one.socket.get(), POLLOUT, 0});
      open.push_back(&one);
    }
    const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
    if (open.empty() || left_ms <= 0) return;
    if (::poll(waits.data(), waits.size(), static_cast<int>(left_ms)) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (waits[i].revents != 0) look(*open[i]);
    }
  }
}

Results peers_answer(const Context& context, std::span<const OtherNode> other_nodes) {
  const std::int64_t deadline_ms = deadline_of(context);
  std::vector<Try> tries(other_nodes.size());
  for (std::size_t i = 0; i < other_nodes.size(); ++i) {
    tries[i].node = &other_nodes[i];
    begin(context, deadline_ms, tries[i]);
  }
  await(tries, deadline_ms);
  Results results;
  results.reserve(tries.size());
  for (Try& one : tries) {
    if (!one.done) one.fault = "no answer on port " + std::to_string(one.node->port);
    results.push_back(one.fault.empty() ? ok("alive", one.node->host)
                      : one.unknown     ? skipped(std::move(one.fault), one.node->host)
                                        : failed(std::move(one.fault), "", one.node->host));
  }
  return results;
}

// Returns one result for all nodes, because a job can have a thousand.
Results summed_up(const Context& context, const Results& results, std::string_view good,
                  std::string_view bad, const std::string& fix) {
  std::vector<std::string> faults;
  std::string unknown;
  std::size_t well = 0;
  for (const CheckResult& result : results) {
    if (result.verdict == CheckStatus::kFailed)
      faults.push_back(result.place + " (" + result.found + ")");
    if (result.verdict == CheckStatus::kSkipped) unknown = result.place + ": " + result.found;
    if (result.verdict == CheckStatus::kOk) ++well;
  }
  const std::string all = " of " + count_text(context.other_nodes.size(), "node") + " ";
  if (!faults.empty()) {
    std::string found =
        std::to_string(faults.size()) + all + std::string(bad) + ": " + listed(faults);
    // Before a job the other nodes may still be starting.
    const bool early = context.occasion == Occasion::kPreflight;
    return {early ? warning(std::move(found), fix) : failed(std::move(found), fix)};
  }
  if (well == 0) return {skipped(unknown)};
  return {ok(std::to_string(well) + all + std::string(good))};
}

}  // namespace

Results check_hosts(const Context& context) {
  if (context.other_nodes.empty())
    return {skipped("the job has no other node, or does not name it")};
  return summed_up(
      context, in_shards(context, names_known), "are known", "are not known",
      "see the service that names the pods (a headless service, with "
      "publishNotReadyAddresses) and /etc/resolv.conf, or give addresses with --hosts");
}

Results check_peers(const Context& context) {
  if (context.other_nodes.empty())
    return {skipped("the job has no other node, or does not name it")};
  if (context.occasion == Occasion::kPreflight) {
    return {skipped("before the start the other nodes may not be up yet")};
  }
  Context told = context;
  std::erase_if(told.other_nodes, [](const OtherNode& node) { return node.port <= 0; });
  if (told.other_nodes.empty()) return {skipped("no port of the other nodes is known")};
  return summed_up(told, in_shards(told, peers_answer), "answer", "do not answer",
                   "see whether those nodes run, and whether a network policy drops what is sent "
                   "to them");
}

}  // namespace doctor
