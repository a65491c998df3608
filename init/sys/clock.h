#pragma once
// The two clocks of a process: the monotonic one for deadlines, the wall clock for people.

#include <cstdint>
#include <string>

namespace sys {

std::int64_t monotonic_ms();  // CLOCK_MONOTONIC: not affected when the wall clock is set
std::int64_t wall_ms();       // milliseconds since 1970, UTC
std::string utc_text(std::int64_t wall_ms);  // "2026-11-20T07:35:10.123Z"

void sleep_ms(std::int64_t duration_ms);  // sleeps for the whole time, also if signals arrive
void pause_ms(std::int64_t duration_ms);  // sleeps, but a signal that has a handler ends the sleep

}  // namespace sys
