#include "init/engine/monitor/patrol_news.h"

namespace engine {
namespace {

constexpr std::size_t kHeadBytes = 20;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint64_t get(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    value |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  return value;
}

}  // namespace

std::string encode_news(const PatrolNews& news) {
  std::string bytes;
  put(bytes, news.process, 4);
  put(bytes, news.count, 8);
  put(bytes, static_cast<std::uint64_t>(news.value), 8);
  return bytes + news.text;
}

std::optional<PatrolNews> decode_news(std::uint32_t kind, std::string_view bytes) {
  if (kind < 1 || kind > kPatrolKinds || bytes.size() < kHeadBytes) return std::nullopt;
  return PatrolNews{.kind = static_cast<PatrolNews::Kind>(kind),
                    .process = static_cast<std::uint32_t>(get(bytes, 0, 4)),
                    .count = get(bytes, 4, 8),
                    .value = static_cast<std::int64_t>(get(bytes, 12, 8)),
                    .text = std::string(bytes.substr(kHeadBytes))};
}

}  // namespace engine
