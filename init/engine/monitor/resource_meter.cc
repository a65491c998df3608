#include "init/engine/monitor/resource_meter.h"

#include <algorithm>
#include <utility>

#include "init/proc/load.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/memory.h"

namespace engine {
namespace {

std::vector<std::vector<proc::Load>> loads_of(const std::vector<ResourceMeter::Rank>& ranks) {
  std::vector<pid_t> roots;
  roots.reserve(ranks.size());
  for (const ResourceMeter::Rank& rank : ranks) roots.push_back(rank.pid);
  return proc::trees_of(proc::all_loads(), roots);
}

bool lives(const std::vector<proc::Load>& tree, const ResourceMeter::Rank& rank) {
  return std::ranges::any_of(tree, [&rank](const proc::Load& one) {
    return one.pid == rank.pid && one.start == rank.start && one.state != 'Z';
  });
}

}  // namespace

ResourceMeter::ResourceMeter(std::vector<Rank> ranks, std::optional<envgen::Identity> job)
    : ranks_(std::move(ranks)), job_(std::move(job)) {
  ranks_.resize(std::min<std::size_t>(ranks_.size(), kMaxMeasuredRanks));
  trees_.resize(ranks_.size());
}

ResourceSample ResourceMeter::measure() {
  ResourceSample sample{.at_ms = sys::monotonic_ms(), .ranks = {}};
  if (const auto container = sys::container_memory()) {
    sample.memory_bytes = static_cast<std::int64_t>(container->used_bytes);
    if (container->limit_bytes) {
      sample.limit_bytes = static_cast<std::int64_t>(*container->limit_bytes);
    }
  }
  std::optional<sys::AsUser> as_job;
  // The kernel hides stacks from other users: all processes would look like forks of each other.
  if (!sys::take_rights(job_, as_job)) as_job.reset();
  const std::vector<std::vector<proc::Load>> trees = loads_of(ranks_);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!lives(trees[i], ranks_[i])) continue;
    std::int64_t cpu_ms = 0;
    for (const proc::Load& one : trees[i]) cpu_ms += one.used_ms;
    sample.ranks.push_back({.process = ranks_[i].process,
                            .memory_bytes = trees_[i].look(proc::memory_of(trees[i])),
                            .cpu_ms = cpu_ms});
  }
  return sample;
}

}  // namespace engine
