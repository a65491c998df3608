#include "init/engine/poller.h"

#include <algorithm>

namespace engine {

void Poller::clear() { watched_.clear(); }

void Poller::add(const Watched& watched) {
  if (watched.fd >= 0) watched_.push_back(watched);
}

const std::vector<Poller::Watched>& Poller::wait(proc::SignalSource& signals,
                                                 std::optional<std::int64_t> timeout_ms) {
  sources_.clear();
  sources_.push_back(signals.source());
  for (const Watched& watched : watched_) sources_.push_back({watched.fd, POLLIN, 0});
  const std::int64_t limit = timeout_ms ? std::max<std::int64_t>(*timeout_ms, 0) : -1;
  signals.wait(sources_, limit);
  ready_.clear();
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (sources_[i + 1].revents != 0) ready_.push_back(watched_[i]);
  }
  return ready_;
}

}  // namespace engine
