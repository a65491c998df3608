#include "init/engine/tasks/record_pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using engine::RecordPace;

TEST(RecordPace, FallsWithTheBytesAndEnds) {
  RecordPace pace(1600);
  EXPECT_TRUE(pace.allows(5000, false));
  pace.add(99, 5000);
  EXPECT_FALSE(pace.allows(5899, false));
  EXPECT_TRUE(pace.allows(5899, true)) << "the last record of a start";
  EXPECT_TRUE(pace.allows(5900, false));
  pace.add(101, 6000);
  EXPECT_FALSE(pace.allows(9899, false));
  EXPECT_TRUE(pace.allows(9900, false));
  pace.add(1500, 10'000);
  EXPECT_FALSE(pace.allows(INT64_MAX, false));
  EXPECT_TRUE(pace.allows(10'000, true));
  pace.add(1600, 10'000);
  EXPECT_FALSE(pace.allows(INT64_MAX, true));
}

}  // namespace
