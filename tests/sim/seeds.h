#pragma once
// The seeds of the random simulations. They change each day, so that runs of the same code try
// different steps.

#include <cstdint>

namespace sim {

// Returns TRAINIT_SIM_FROM, or without it the day's first seed: days since 1970 (UTC) times
// 1,000,000. The first call prints it.
std::uint64_t first_seed();

// Returns the number in the environment variable, or `otherwise` if it is not set.
std::uint64_t number_of(const char* variable, std::uint64_t otherwise);

}  // namespace sim
