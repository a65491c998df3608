#include "envgen/failure/exception_line.h"

#include <gtest/gtest.h>

namespace envgen {
namespace {

TEST(ExceptionLine, HasTheNameOfAnException) {
  for (const char* line :
       {"ValueError: no such shard", "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        "requests.exceptions.ReadTimeout: HTTPConnectionPool", "queue.Empty", "AssertionError",
        "KeyboardInterrupt", "SystemExit: 3"}) {
    EXPECT_TRUE(is_exception(line)) << line;
    EXPECT_FALSE(exception_name(line).empty()) << line;
  }
  for (const char* line : {"", "main()", "step 3: loss 2.1", "Node: 'Allreduce_0'", "loss: 3",
                           "An Error: x", "UserWarning: slow", "Timeout: 30", "batch.Group: 8"}) {
    EXPECT_FALSE(is_exception(line)) << line;
  }
  EXPECT_EQ(exception_name("lib.Broken: x"), "lib.Broken") << "behind the code of a traceback";
}

TEST(ExceptionLine, IsTheScriptsOwnOrOfSomethingThatMayGoAway) {
  for (const char* name : {"KeyError", "ValueError", "AssertionError"}) {
    EXPECT_FALSE(is_foreign_exception(name)) << name;
  }
  for (const char* name : {"wandb.errors.CommError", "RuntimeError", "OSError", "TimeoutError",
                           "ConnectionResetError"}) {
    EXPECT_TRUE(is_foreign_exception(name)) << name;
  }
}

}  // namespace
}  // namespace envgen
