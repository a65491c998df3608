#pragma once
// What the patrol tells PID 1, as bytes of a message.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace engine {

struct PatrolNews {
  enum class Kind : std::uint32_t {
    kSample = 1,  // of the performance: `count` lines, the last one's `value` in ppm
    kAbove,       // the threshold
    kStalled,     // for `value` milliseconds
    kMoves,       // again
    kHealth,      // `count` failed rounds in succession; 0: it is fit
  };
  Kind kind = Kind::kSample;
  std::uint32_t process = 0;  // its place in the plan, of a main process
  std::uint64_t count = 0;
  std::int64_t value = 0;
  std::string text = {};

  bool operator==(const PatrolNews&) const = default;
};
std::string encode_news(const PatrolNews& news);
// nullopt: not what encode_news makes.
std::optional<PatrolNews> decode_news(std::uint32_t kind, std::string_view bytes);

inline constexpr auto kPatrolKinds = static_cast<std::uint32_t>(PatrolNews::Kind::kHealth);

}  // namespace engine
