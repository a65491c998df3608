#include "init/engine/monitor/monitor_news.h"

#include "base/wire.h"

namespace engine {

std::string encode_news(const MonitorNews& news) { return envgen::to_wire(news); }

std::optional<MonitorNews> decode_news(std::uint32_t kind, std::string_view bytes) {
  if (kind < 1 || kind > kMonitorKinds) return std::nullopt;
  auto news = envgen::from_wire<MonitorNews>(bytes);
  if (news) news->kind = static_cast<MonitorNews::Kind>(kind);
  return news;
}

}  // namespace engine
