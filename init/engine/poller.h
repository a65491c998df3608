#pragma once
// The poller of the loop, with what a turn waits for: descriptors that can be read, a signal, a
// time. The set is made anew for each turn from what is open then, so nothing that was closed is
// left in it. On ppoll: it has no descriptor of its own, and costs a start no call.

#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "init/proc/signals.h"

namespace engine {

class Poller {
 public:
  // `id` is what the caller wants to be told when `fd` can be read, or is at its end.
  struct Watched {
    int fd = -1;
    std::uint32_t id = 0;
    std::uint32_t index = 0;
  };

  void clear();
  // A descriptor that is not open (-1) is left out.
  void add(const Watched& watched);
  // Until something can be read, a signal came, or `timeout_ms` are over; nullopt: no limit. What
  // can be read, in the order in which it was added; the signals are the caller's to read.
  const std::vector<Watched>& wait(proc::SignalSource& signals,
                                   std::optional<std::int64_t> timeout_ms);

 private:
  std::vector<Watched> watched_;
  std::vector<pollfd> sources_;  // the signals' and then one for each in watched_
  std::vector<Watched> ready_;
};

}  // namespace engine
