#include "init/engine/monitor/membership_watch.h"

#include <utility>
#include <variant>

#include "init/engine/cluster/membership.h"
#include "init/engine/resolve/collect.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::uint32_t kChanged = 1;
constexpr std::uint32_t kMaxMessageBytes = 64U << 10;
constexpr int kLeft = -1;  // Cluster::master_port of a list without this node

// Returns the answer's cluster; nullopt if the answer is an error or incomplete. A job of one node
// may have no list: then the cluster is empty. A list without this node is a changed list, whatever
// its contents.
std::optional<envgen::Cluster> cluster_of(const envgen::Answer& answer) {
  const auto* error = std::get_if<base::Error>(&answer.outcome);
  if (error != nullptr && error->not_listed) return envgen::Cluster{.master_port = kLeft};
  const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
  if (planned == nullptr) return std::nullopt;
  return planned->plan.cluster.value_or(envgen::Cluster{});
}

}  // namespace

int watch_membership(envgen::Snapshot snapshot, const envgen::Request& asked,
                     std::uint64_t running_id, const std::function<bool(const std::string&)>& send,
                     const Planner& planner, MembershipTimes times) {
  // Do not bind to devices: that has no effect on the list of nodes, and npu-smi takes seconds.
  envgen::Request request = asked;
  request.observe.bind = envgen::Bind::kNone;
  LookedAt looked;
  // The running plan's list, for the message; empty until it was read.
  std::optional<envgen::Cluster> before;
  std::optional<envgen::Cluster> now;
  std::uint64_t now_id = 0;
  // Id of the new list that must stay unchanged for stable_ms; 0: none.
  std::uint64_t candidate = 0;
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
      const std::string what = now->master_port == kLeft ? "this node is in the list no longer"
                               : before                  ? difference(*before, *now)
                                        : "now " + count_of_nodes(now->nodes.size());
      return send("membership changed: " + what) ? 0 : 1;
    }
    sys::pause_ms(times.look_ms);
  }
}

MembershipWatcher::MembershipWatcher(std::function<void(const std::string&)> take)
    : ChildWorker(kChanged, kMaxMessageBytes), take_(std::move(take)) {}

base::Status MembershipWatcher::start(const envgen::Snapshot& base, const envgen::Request& request,
                                      std::uint64_t running_id, const proc::SavedSignals& saved,
                                      const Planner& planner, MembershipTimes times) {
  told_ = false;
  return fork("starting the watcher of the list of nodes", saved, [&](int fd) {
    auto send = [fd](const std::string& text) { return send_message(fd, kChanged, text); };
    return watch_membership(base, request, running_id, send, planner, times);
  });
}

ChildWorker::Heard MembershipWatcher::on_message(std::uint32_t /*kind*/, std::string_view text) {
  told_ = true;
  take_(std::string(text));
  return Heard::kLast;
}

void MembershipWatcher::on_silence(bool /*damaged*/) {
  if (told_) return;
  sys::log::warning("the list of nodes is no longer watched: the watcher has failed");
}

MembershipWatch::MembershipWatch(const WorkerContext& context, const Planner& planner)
    : MembershipWatcher([&context](const std::string& change) {
        sys::log::info(change);
        context.post(lifecycle::event::MembershipChanged{});
      }),
      context_(context),
      planner_(planner) {}

void MembershipWatch::stepped() {
  const Job& job = context_.job;
  const bool runs =
      context_.machine.phase() == lifecycle::Phase::kRunning || context_.machine.awaits_nodes();
  keep(runs && job.plan.policy.elastic, [&] {
    auto status = start(context_.start_context().base, context_.request, job.plan.cluster_id,
                        context_.saved, planner_);
    if (!status) {
      sys::log::warning(to_line(status.error()) + ", so the list of nodes is not watched");
    }
  });
}

}  // namespace engine
