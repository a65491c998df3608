#include "envgen/failure/work_shapes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace envgen {
namespace {

WorkShapes after(const std::vector<std::string>& lines) {
  WorkShapes work;
  for (std::size_t i = 0; i < lines.size(); ++i) work.take("", lines[i], i);
  return work;
}

TEST(WorkShapes, AreLinesThatCountOnInAnyLanguage) {
  for (const std::string shape :
       {"step # loss 2.1", "第#批", "Schritt #: ok", " #%|##| #/200", "# 0.5"}) {
    std::vector<std::string> lines = {"start"};
    for (const char* number : {"1", "2", "3", "40"}) {
      std::string line = shape;
      for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#')) {
        line.replace(at, 1, number);
      }
      lines.push_back(line);
    }
    EXPECT_TRUE(after(lines).went_on(0, lines.size())) << shape;
    EXPECT_FALSE(after(lines).went_on(2, lines.size())) << shape;
    EXPECT_FALSE(after(lines).went_on(0, 3)) << shape;
  }
}

TEST(WorkShapes, AreNoLinesThatOnlyRepeat) {
  EXPECT_FALSE(after({"x", "at 7", "at 7", "at 7", "at 7", "at 7"}).went_on(0, 6));
  EXPECT_FALSE(after({"x", "pid 70", "pid 12", "pid 71", "pid 13"}).went_on(0, 5));
  EXPECT_FALSE(after({"x", "done 1", "saved 2", "ended 3", "closed 4"}).went_on(0, 5));
}

TEST(WorkShapes, ResumeOnlyWhatWasThereBeforeOrIsMuch) {
  const WorkShapes closes =
      after({"x", "worker 1 closed", "worker 2 closed", "worker 3 closed", "worker 4 closed"});
  EXPECT_TRUE(closes.went_on(0, 5));
  EXPECT_FALSE(closes.resumed("", 0, 5)) << "the end of a job";
  EXPECT_TRUE(after({"x", "step 1 loss 9", "step 2 loss 8", "step 3 loss 7", "step 4 loss 6",
                     "step 5 loss 5", "step 6 loss 4"})
                  .resumed("", 0, 7));
  const WorkShapes steps = after({"step 1", "x", "step 2", "step 3", "step 4"});
  EXPECT_TRUE(steps.resumed("", 1, 5));
  EXPECT_FALSE(steps.resumed("[rank1]:", 1, 5)) << "another process";
}

}  // namespace
}  // namespace envgen
