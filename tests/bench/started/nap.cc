// nap [ANYTHING]: writes the time of its first instruction (a timespec, CLOCK_MONOTONIC) to stdout.
// With an argument it then takes 30 ms to end: longer than any init may look at it in its start.

#include <time.h>

#include "tests/bench/started/nolibc.h"

void begin(long* stack) {
  timespec now{};
  nolibc::call(nolibc::kClockGettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  nolibc::call(nolibc::kWrite, 1, reinterpret_cast<long>(&now), sizeof now);
  const timespec rest{0, 30'000'000};
  if (stack[0] > 1) nolibc::call(nolibc::kNanosleep, reinterpret_cast<long>(&rest));
  nolibc::exit(0);
}
