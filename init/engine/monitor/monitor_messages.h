#pragma once
// The news that the monitor sends PID 1, as bytes of a message.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

struct MonitorMessage {
  enum class Kind : std::uint32_t {
    kSample = 1,  // what the ranks' lines tell has changed: it stands on the board
    kAbove,       // the threshold
    kNoStep,      // of any rank, for `value` milliseconds
    kStalled,     // for `value` milliseconds
    kMoves,       // again
    kHealth,      // `count` failed rounds in succession; 0: it is fit
    kHang,        // `text` is where the ranks are; with `count` 1 the others wait for `process`
  };
  Kind kind = Kind::kSample;
  std::uint32_t process = 0;  // its place in the plan, of a main process
  std::uint64_t count = 0;
  std::int64_t value = 0;
  std::string text = {};
  std::string places = {};  // kHang: of this node's ranks, for node 0
  std::string notes = {};   // kHang: the part of `text` that RAS knows

  bool operator==(const MonitorMessage&) const = default;
};
inline void fields(envgen::FieldVisitor& v, MonitorMessage& message) {
  v("process", message.process);
  v("count", message.count);
  v("value", message.value);
  v("text", message.text);
  v("places", message.places);
  v("notes", message.notes);
}
// Without the kind, which is the message's.
std::string encode_message(const MonitorMessage& message);
// nullopt: not what encode_message makes.
std::optional<MonitorMessage> decode_message(std::uint32_t kind, std::string_view bytes);

inline constexpr auto kMonitorKinds = static_cast<std::uint32_t>(MonitorMessage::Kind::kHang);

}  // namespace engine
