#include "init/engine/policies.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

// Who waits by right is not taken for one that hangs.
TEST(HangTimeout, LeavesTheNodesTheirTimeToMeet) {
  envgen::Request request;
  request.framework = "pytorch";
  request.rank_table_timeout_ms = 1000;
  request.restart_window_ms = 3'600'000;
  EXPECT_LT(hang_timeout_ms(request), request.restart_window_ms) << "they do not meet";
  request.restart_across_nodes = true;
  EXPECT_GT(hang_timeout_ms(request), request.restart_window_ms);
  request.restart_across_nodes = false;
  request.elastic = true;
  EXPECT_GT(hang_timeout_ms(request), request.restart_window_ms);
}

}  // namespace
}  // namespace engine
