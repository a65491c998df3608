#include "lifecycle/restart_verdict.h"

#include <gtest/gtest.h>

namespace lifecycle {
namespace {

using Prospect = FailureSign::Prospect;

const FailureSign kSeen{.key = "KeyError", .prospect = Prospect::kUnknown, .after_ms = 5000};

TEST(Judge, CallsUselessWhatTheCatalogueCallsSo) {
  EXPECT_EQ(judge({.key = "a", .prospect = Prospect::kUseless}, std::nullopt),
            RestartProspect::kUseless);
}

TEST(Judge, CallsUselessWhatComesTwiceInARowInTheStartPhase) {
  EXPECT_EQ(judge(kSeen, std::nullopt), RestartProspect::kOpen);
  EXPECT_EQ(judge(kSeen, kSeen), RestartProspect::kRepeated);
}

TEST(Judge, LeavesOpenWhatIsInDoubt) {
  FailureSign other = kSeen;
  other.key = "another";
  EXPECT_EQ(judge(kSeen, other), RestartProspect::kOpen);
  FailureSign nameless = kSeen;
  nameless.key = "";
  EXPECT_EQ(judge(nameless, nameless), RestartProspect::kOpen)
      << "nothing says that it is the same";
  FailureSign late = kSeen;
  late.after_ms = kStartPhaseMs;
  EXPECT_EQ(judge(late, kSeen), RestartProspect::kOpen) << "it came further";
  EXPECT_EQ(judge(kSeen, late), RestartProspect::kOpen);
  FailureSign helps = kSeen;
  helps.prospect = Prospect::kHelps;
  EXPECT_EQ(judge(helps, helps), RestartProspect::kOpen) << "a mount that comes back";
}

}  // namespace
}  // namespace lifecycle
