#pragma once
// The poller of the supervisor's loop: it waits until a descriptor can be read, a signal comes, or
// a time is reached. Each turn of the loop adds the descriptors that are open then, so no closed
// one is left in the set. Uses ppoll, which needs no descriptor of its own.

#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "init/proc/signals.h"

namespace engine {

class Poller {
 public:
  // A descriptor to wait for. `id` and `index` mean nothing to the poller: they tell the caller
  // which source `fd` is.
  struct Watched {
    int fd = -1;
    std::uint32_t id = 0;
    std::uint32_t index = 0;
  };

  void clear();
  // Adds a descriptor; -1 is ignored.
  void add(const Watched& watched);
  // Blocks until a descriptor can be read or is at its end, a signal came, or `timeout_ms` are over
  // (nullopt: no limit). Returns the descriptors that can be read or are at their end, in the order
  // of add(). The caller reads the signals.
  const std::vector<Watched>& wait(proc::SignalSource& signals,
                                   std::optional<std::int64_t> timeout_ms);

 private:
  std::vector<Watched> watched_;
  std::vector<pollfd> sources_;  // the signal source, then one entry for each in watched_
  std::vector<Watched> ready_;
};

}  // namespace engine
