#include "init/engine/monitor/monitor_messages.h"

#include "base/wire.h"

namespace engine {

std::string encode_message(const MonitorMessage& message) { return base::to_wire(message); }

std::optional<MonitorMessage> decode_message(std::uint32_t kind, std::string_view bytes) {
  if (kind < 1 || kind > kMonitorKinds) return std::nullopt;
  auto message = base::from_wire<MonitorMessage>(bytes);
  if (message) message->kind = static_cast<MonitorMessage::Kind>(kind);
  return message;
}

}  // namespace engine
