#pragma once
// The pace of records that one part of trainit adds to the timeline as long as the job runs. The
// timeline ends at 4 MiB and must keep room for its other events, so records become rarer with
// their bytes: each sixteenth of the budget doubles the time between two. The budget then lasts for
// weeks. A record at the end of a start comes in any case, from a second budget of this size.

#include <cstddef>
#include <cstdint>

namespace engine {

class RecordPace {
 public:
  explicit RecordPace(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // `now_ms`: sys::monotonic_ms(). `last`: the start has ended, and with it the values.
  [[nodiscard]] bool allows(std::int64_t now_ms, bool last) const {
    if (last) return bytes_ <= 2 * max_bytes_;
    return now_ms >= next_ms_ && bytes_ <= max_bytes_;
  }
  void add(std::size_t bytes, std::int64_t now_ms) {
    constexpr std::size_t kHalvings = 16;
    constexpr std::int64_t kFirstMs = 1000;
    constexpr std::int64_t kSlackMs = 100;  // values come once a second, some a little early
    bytes_ += bytes;
    next_ms_ = now_ms + (kFirstMs << (bytes_ / (max_bytes_ / kHalvings))) - kSlackMs;
  }

 private:
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;     // size of all records
  std::int64_t next_ms_ = 0;  // earliest time of the next record
};

}  // namespace engine
