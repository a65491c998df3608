#pragma once
// Numbers that follow from a seed: splitmix64, small, and good enough from any seed.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "lifecycle/task.h"

namespace sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  lifecycle::TimeMs pick(std::initializer_list<lifecycle::TimeMs> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(below(values.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace sim
