#pragma once
// The messages of the monitor to PID 1, as bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace engine {

// The memory and CPU time of a rank's process tree; -1: not known.
struct RankResources {
  std::uint32_t process = 0;  // index of a main process in the plan
  std::int64_t memory_bytes = -1;
  std::int64_t cpu_ms = -1;  // since its start; the value can fall (proc/load.h)

  bool operator==(const RankResources&) const = default;
};
inline void fields(base::FieldVisitor& v, RankResources& rank) {
  v("process", rank.process);
  v("memory_bytes", rank.memory_bytes);
  v("cpu_ms", rank.cpu_ms);
}

struct ResourceSample {
  std::int64_t at_ms = 0;          // sys::monotonic_ms()
  std::int64_t memory_bytes = -1;  // of the container; -1: not known
  std::int64_t limit_bytes = -1;   // of the container's memory; -1: none, or not known
  std::vector<RankResources> ranks;

  bool operator==(const ResourceSample&) const = default;
};
// 20 KiB on the wire.
inline constexpr std::uint32_t kMaxMeasuredRanks = 1024;
inline void fields(base::FieldVisitor& v, ResourceSample& sample) {
  v("at_ms", sample.at_ms);
  v("memory_bytes", sample.memory_bytes);
  v("limit_bytes", sample.limit_bytes);
  v("ranks", sample.ranks, {.most_items = kMaxMeasuredRanks});
}

struct MonitorMessage {
  enum class Kind : std::uint32_t {
    kSample = 1,  // numbers on the board (line_watch.h) have changed
    kAbove,       // the performance ratio of `process` is above --perf-threshold
    kNoStep,      // no rank has printed a step for `value` milliseconds
    kStalled,     // `process` has made no progress for `value` milliseconds
    kMoves,       // `process` makes progress again
    kHealth,      // `count` failed health rounds in succession; 0: the node is healthy
    kHang,        // `text`: where the ranks are; `count` 1: the others wait for `process`
    kResources,   // `resources` were measured
  };
  Kind kind = Kind::kSample;
  std::uint32_t process = 0;  // index of a main process in the plan
  std::uint64_t count = 0;
  std::int64_t value = 0;
  std::string text = {};
  std::string places = {};  // kHang: encoded places of this node's ranks, for node 0
  std::string notes = {};   // kHang: the part of `text` from RAS
  std::optional<ResourceSample> resources = {};

  bool operator==(const MonitorMessage&) const = default;
};
inline void fields(base::FieldVisitor& v, MonitorMessage& message) {
  v("process", message.process);
  v("count", message.count);
  v("value", message.value);
  v("text", message.text);
  v("places", message.places);
  v("notes", message.notes);
  v("resources", message.resources);
}
// Encodes the message without its kind, which send_message() gets separately.
std::string encode_message(const MonitorMessage& message);
// Decodes a message. Returns nullopt if `bytes` are damaged.
std::optional<MonitorMessage> decode_message(std::uint32_t kind, std::string_view bytes);

inline constexpr auto kMonitorKinds = static_cast<std::uint32_t>(MonitorMessage::Kind::kResources);

}  // namespace engine
