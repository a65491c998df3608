#pragma once
// The messages of the monitor to PID 1, as bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

struct MonitorMessage {
  enum class Kind : std::uint32_t {
    kSample = 1,  // numbers on the board (line_watch.h) have changed
    kAbove,       // the performance ratio of `process` is above --perf-threshold
    kNoStep,      // no rank has printed a step for `value` milliseconds
    kStalled,     // `process` has made no progress for `value` milliseconds
    kMoves,       // `process` makes progress again
    kHealth,      // `count` failed health rounds in succession; 0: the node is healthy
    kHang,        // `text`: where the ranks are; `count` 1: the others wait for `process`
  };
  Kind kind = Kind::kSample;
  std::uint32_t process = 0;  // index of a main process in the plan
  std::uint64_t count = 0;
  std::int64_t value = 0;
  std::string text = {};
  std::string places = {};  // kHang: encoded places of this node's ranks, for node 0
  std::string notes = {};   // kHang: the part of `text` from RAS

  bool operator==(const MonitorMessage&) const = default;
};
inline void fields(base::FieldVisitor& v, MonitorMessage& message) {
  v("process", message.process);
  v("count", message.count);
  v("value", message.value);
  v("text", message.text);
  v("places", message.places);
  v("notes", message.notes);
}
// Encodes the message without its kind, which send_message() gets separately.
std::string encode_message(const MonitorMessage& message);
// Decodes a message. Returns nullopt if `bytes` are damaged.
std::optional<MonitorMessage> decode_message(std::uint32_t kind, std::string_view bytes);

inline constexpr auto kMonitorKinds = static_cast<std::uint32_t>(MonitorMessage::Kind::kHang);

}  // namespace engine
