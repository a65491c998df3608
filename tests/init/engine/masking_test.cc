// Credentials in what PID 1 publishes.

#include <gmock/gmock.h>

#include "init/engine/state/state.h"
#include "init/engine/tasks/job.h"
#include "tests/init/child.h"

namespace engine {
namespace {

using testing::HasSubstr;
using testing::Not;

class Masking : public child::Scratch {};

TEST_F(Masking, CoversTheTerminationLog) {
  const std::string file = write("termination-log", "");
  write_termination_log(file.c_str(), "starting HF_TOKEN=canary at http://bob:canary@h/x");
  EXPECT_EQ(read(file), "starting HF_TOKEN=*** at http://***@h/x");
}

TEST_F(Masking, CoversAllTextsOfTheState) {
  JobReport report;
  report.waiting_for = "http://bob:canary@h/x";
  report.first_failure = "starting HF_TOKEN=canary";
  report.warnings = {"--api-key=canary"};
  const std::string json = state_to_json(report);
  EXPECT_THAT(json, HasSubstr("***"));
  EXPECT_THAT(json, Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace engine
