#include "init/engine/workers/worker_list.h"

#include <algorithm>

namespace engine {

void WorkerList::each_channel(
    const std::function<void(int fd, std::uint32_t index)>& wait_for) const {
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    if (const int fd = workers_[i]->channel(); fd >= 0) wait_for(fd, i);
  }
}

std::optional<std::int64_t> WorkerList::next_deadline() const {
  std::optional<std::int64_t> next;
  for (const auto& worker : workers_) {
    if (const auto due_ms = worker->deadline_ms()) next = std::min(next.value_or(*due_ms), *due_ms);
  }
  return next;
}

void WorkerList::tend(std::int64_t now_ms) {
  for (const auto& worker : workers_) worker->tend(now_ms);
}

void WorkerList::stepped() {
  for (const auto& worker : workers_) worker->stepped();
}

void WorkerList::reaped(const proc::Death& death) {
  for (const auto& worker : workers_) worker->reaped(death);
}

}  // namespace engine
