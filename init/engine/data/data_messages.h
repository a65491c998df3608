#pragma once
// The news that the child that prepares a dataset sends PID 1: packets on a socket. The last one
// may bring a descriptor, the lease of the copy.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "init/engine/state/data_record.h"
#include "init/sys/fd.h"

namespace engine {

struct DataMessage {
  enum class Kind : std::uint32_t {
    kProgress = 1,
    kWarning,  // `text`
    kReady,    // at `path`, and how it came there; `progress` has what it holds
    kFailed,   // `text`, and the exit code that it stands for
    kMissing,  // the same, and the source is not there or closed: it cannot be read instead
  };
  Kind kind = Kind::kProgress;
  DataProgress progress = {};
  int exit_code = 0;
  std::string path = {};
  std::string text = {};

  bool operator==(const DataMessage&) const = default;
};
inline void fields(envgen::FieldVisitor& v, DataMessage& message) {
  v("kind", message.kind, DataMessage::Kind::kMissing, DataMessage::Kind::kProgress);
  v("progress", message.progress);
  v("exit_code", message.exit_code, {.least = 0, .most = 255});
  v("path", message.path);
  v("text", message.text);
}

// Texts are cut so that a packet has at most kMaxPacketBytes.
std::string encode_data_message(const DataMessage& message);
// nullopt: not what encode_data_message makes.
std::optional<DataMessage> decode_data_message(std::string_view packet);
inline constexpr std::size_t kMaxPacketBytes = 16UL << 10;

// Both ends close on exec.
struct DataSocket {
  sys::Fd ours;
  sys::Fd theirs;
};
std::optional<DataSocket> make_data_socket();

// Waits until there is room, but for kProgress, which may be lost. `lease`: -1 = none.
void send_data_message(int socket, const DataMessage& message, int lease = -1);

// What one look at the socket finds; never blocks.
struct ReceivedData {
  std::optional<DataMessage> message;  // nothing: none is there now
  sys::Fd lease;
  bool damaged = false;  // by a child gone mad: read no further
};
ReceivedData receive_data_message(int socket);

}  // namespace engine
