#include "init/engine/monitor/watch.h"

#include <poll.h>

#include <utility>
#include <variant>

#include "init/engine/cluster/membership.h"
#include "init/engine/resolve/collect.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::uint32_t kChanged = 1;
constexpr std::uint32_t kMostMessageBytes = 64U << 10;

// A job of one node may have no list.
std::optional<envgen::Cluster> cluster_of(const envgen::Answer& answer) {
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  if (planned == nullptr) return std::nullopt;
  return planned->plan.cluster.value_or(envgen::Cluster{});
}

}  // namespace

int watch(envgen::Snapshot snapshot, const envgen::Request& asked, std::uint64_t running_id,
          const std::function<bool(const std::string&)>& send, const Planner& planner,
          WatchTimes times) {
  // Where the devices are changes no list of nodes, and asking npu-smi takes seconds.
  envgen::Request request = asked;
  request.observe.bind = envgen::Bind::kNone;
  LookedAt looked;
  std::optional<envgen::Cluster> before;  // by its names the change is told
  std::optional<envgen::Cluster> now;
  std::uint64_t now_id = 0;
  std::uint64_t candidate = 0;  // 0: none
  std::int64_t since_ms = 0;
  while (true) {
    if (looked.may_have_changed()) {
      snapshot.paths.clear();
      now =
          cluster_of(planner ? planner(snapshot, request) : collect_and_resolve(snapshot, request));
      now_id = now ? cluster_id(*now) : 0;
      looked.seen(snapshot.paths);
      snapshot.paths.clear();
    }
    if (now && running_id == 0) running_id = now_id;
    if (now_id == running_id && now && !before) before = now;
    const bool other = now && now_id != running_id;
    if (!other || now_id != candidate) {
      candidate = other ? now_id : 0;
      since_ms = sys::monotonic_ms();
    } else if (sys::monotonic_ms() - since_ms >= times.stable_ms) {
      const std::string what =
          before ? difference(*before, *now) : "now " + count_of_nodes(now->nodes.size());
      return send("membership changed: " + what) ? 0 : 1;
    }
    ::poll(nullptr, 0, static_cast<int>(times.look_ms));
  }
}

envgen::Result<Watcher> Watcher::start(const envgen::Snapshot& base, const envgen::Request& request,
                                       std::uint64_t running_id, const proc::SavedSignals& saved,
                                       const Planner& planner, WatchTimes times) {
  auto body = [&](int fd) {
    auto send = [fd](const std::string& text) { return send_message(fd, kChanged, text); };
    return watch(base, request, running_id, send, planner, times);
  };
  auto messenger = fork_messenger("starting the watcher of the list of nodes", saved, body);
  if (!messenger) return std::unexpected(messenger.error());
  return Watcher(messenger->pid, std::move(messenger->pipe));
}

Watcher::Watcher(pid_t pid, sys::Fd pipe)
    : pid_(pid), messages_(std::move(pipe), kChanged, kMostMessageBytes) {}

std::optional<std::string> Watcher::read_news() {
  std::optional<std::string> news;
  auto take = [&news](std::uint32_t, std::string_view text) {
    news = std::string(text);
    return false;
  };
  if (!messages_.read(take)) return std::nullopt;
  return news;
}

}  // namespace engine
