#include "tests/sim/seeds.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sim {
namespace {

constexpr std::uint64_t kSecondsOfADay = 86'400;
constexpr std::uint64_t kSeedsOfADay = 1'000'000;

}  // namespace

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t first_seed() {
  static const std::uint64_t first = [] {
    const auto day = static_cast<std::uint64_t>(std::time(nullptr)) / kSecondsOfADay;
    const std::uint64_t found = number_of("TRAINIT_SIM_FROM", day * kSeedsOfADay);
    std::printf("seeds from TRAINIT_SIM_FROM=%llu\n", static_cast<unsigned long long>(found));
    std::fflush(stdout);
    return found;
  }();
  return first;
}

}  // namespace sim
