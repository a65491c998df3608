#pragma once
// What the table is held to: trainit's own column, and where a drop-in is not what it stands for.

#include <span>
#include <string_view>

#include "tests/behaviour/inits.h"

namespace behaviour {

struct Expected {
  int row;
  std::string_view text;
  std::string_view why;  // empty: as all the others do
};
// One for each row that is not timed.
std::span<const Expected> expected_of_trainit();

// A cell of a drop-in that is better than its original, on purpose.
struct Deviation {
  int row;
  Kind kind;
  std::string_view text;
  std::string_view why;
};
std::span<const Deviation> deviations();

}  // namespace behaviour
