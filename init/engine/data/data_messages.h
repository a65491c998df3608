#pragma once
// The messages of a dataset's child (data_worker.h) to PID 1, as packets on a socket. kReady can
// carry a descriptor: the lease of the copy.

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
    kWarning,  // `text`: the warning
    kReady,    // `path`: the data, `text`: how it was made, `progress`: its size
    kFailed,   // `text`: the reason, with the job's `exit_code` for it
    kMissing,  // as kFailed, and the source is missing or not readable for the job either
  };
  Kind kind = Kind::kProgress;
  DataProgress progress = {};
  int exit_code = 0;
  std::string path = {};
  std::string text = {};

  bool operator==(const DataMessage&) const = default;
};
inline void fields(base::FieldVisitor& v, DataMessage& message) {
  v("kind", message.kind, DataMessage::Kind::kMissing, DataMessage::Kind::kProgress);
  v("progress", message.progress);
  v("exit_code", message.exit_code, {.least = 0, .most = 255});
  v("path", message.path);
  v("text", message.text);
}

// Encodes `message`. Cuts texts so that a packet has at most kMaxPacketBytes.
std::string encode_data_message(const DataMessage& message);
// Decodes a message. Returns nullopt if `packet` is damaged.
std::optional<DataMessage> decode_data_message(std::string_view packet);
inline constexpr std::size_t kMaxPacketBytes = 16UL << 10;

// The two ends of the socket: PID 1's (ours) and the child's (theirs). Both close on exec.
struct DataSocket {
  sys::Fd ours;
  sys::Fd theirs;
};
std::optional<DataSocket> make_data_socket();

// Sends a message. Blocks until the socket has room. A kProgress message does not block; without
// room it is lost. `lease`: descriptor to send with the message; -1: none.
void send_data_message(int socket, const DataMessage& message, int lease = -1);

// The result of receive_data_message(), which never blocks.
struct ReceivedData {
  std::optional<DataMessage> message;  // nullopt: no message has arrived
  sys::Fd lease;
  bool damaged = false;  // do not read on: the packet is damaged, or the child has closed its end
};
ReceivedData receive_data_message(int socket);

}  // namespace engine
