#pragma once
// The list of a job's workers, in the order in which they were added. The loop polls, wakes, tends
// and reaps them. Workers are never removed; an idle one costs one check per turn.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "init/engine/workers/child_worker.h"

namespace engine {

class WorkerList {
 public:
  // Creates a worker and adds it to the end of the list. A worker must not call this during the
  // calls below.
  template <class Worker, class... Args>
  Worker& add(Args&&... args) {
    auto worker = std::make_unique<Worker>(std::forward<Args>(args)...);
    Worker& added = *worker;
    workers_.push_back(std::move(worker));
    return added;
  }

  // Calls `wait_for` with each channel to poll, and the index to call read() with.
  void each_channel(const std::function<void(int fd, std::uint32_t index)>& wait_for) const;
  // Returns when tend() is due next, in milliseconds of the monotonic clock.
  [[nodiscard]] std::optional<std::int64_t> next_deadline() const;

  void read(std::uint32_t index) { workers_[index]->read(); }
  void tend(std::int64_t now_ms);
  void stepped();
  void reaped(const proc::Death& death);

 private:
  std::vector<std::unique_ptr<ChildWorker>> workers_;
};

}  // namespace engine
