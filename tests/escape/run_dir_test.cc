// A job of another user that fills what it may write below RUN_DIR.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::Result;
using escape::Spec;
using testing::HasSubstr;

class RunDir : public Border {
 protected:
  // RUN_DIR lies on a file system of 16 MiB and 2000 files.
  [[nodiscard]] Spec on_a_small_disk(const std::string& script) const {
    Spec spec = contained(ranks(2, rules::shell("cd " + path("run/stacks/dumps") + "; " + script),
                                {"--user", "1000:1000"}));
    spec.before = [before = spec.before, run = path("run")] {
      before();
      if (::mount("none", run.c_str(), "tmpfs", 0, "size=16m,nr_inodes=2000,mode=755") != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    return spec;
  }
  // Waits for what `test` says, a minute at most.
  static std::string until(const std::string& test) {
    return "n=0; until " + test + "; do sleep 0.1; n=$((n+1)); [ $n -lt 600 ] || exit 9; done; ";
  }
  static void expect_bound(const Result& result) {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(") of the job from "));
    EXPECT_THAT(result.err, HasSubstr("run/stacks/dumps"));
  }
};

TEST_F(RunDir, IsNotFilledByALargeFile) {
  expect_bound(rules::run(on_a_small_disk("[ $RANK_ID = 0 ] || exit 0; cat /dev/zero >large; " +
                                          until("[ ! -e large ]") + "exit 0")));
}

TEST_F(RunDir, IsNotFilledByManyFiles) {
  expect_bound(rules::run(on_a_small_disk(
      "[ $RANK_ID = 0 ] || exit 0; n=0; while [ $n -lt 1200 ]; do : >x$n; n=$((n+1)); done; " +
      until("[ $(ls | wc -l) -lt 600 ]") + "exit 0")));
}

TEST_F(RunDir, IsNotFilledByAFileWithoutAName) {
  expect_bound(rules::run(
      on_a_small_disk("[ $RANK_ID = 0 ] || exit 0; exec 9>open; rm open; cat /dev/zero >&9; " +
                      until("[ $(stat -L -c %b /proc/self/fd/9) = 0 ]") + "exit 0")));
}

}  // namespace
