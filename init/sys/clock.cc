#include "init/sys/clock.h"

#include <limits.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace sys {
namespace {

std::int64_t now_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::int64_t monotonic_ms() { return now_ms(CLOCK_MONOTONIC); }

std::int64_t wall_ms() { return now_ms(CLOCK_REALTIME); }

void sleep_ms(std::int64_t duration_ms) {
  timespec left{.tv_sec = duration_ms / 1000, .tv_nsec = duration_ms % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// Uses poll(2), because the kernel never restarts it after a handler.
void pause_ms(std::int64_t duration_ms) {
  ::poll(nullptr, 0, static_cast<int>(std::clamp<std::int64_t>(duration_ms, 0, INT_MAX)));
}

// Uses the calendar of <chrono>, because gmtime_r reads /etc/localtime for leap seconds.
std::string utc_text(std::int64_t wall_ms) {
  // The limits are the years 0 to 9999: a number from a file may have any value, for which <chrono>
  // would overflow.
  constexpr std::int64_t kFirstMs = -62'167'219'200'000;
  constexpr std::int64_t kLastMs = 253'402'300'799'999;
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(std::clamp(wall_ms, kFirstMs, kLastMs))};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

}  // namespace sys
