// The watches in a real engine: performance and health. The image has no shell: hooks are scripts
// of the payload.

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Watches : public JobTest {
 protected:
  Watches() {
    scratch_.write(kTable, rank_table(2));
    scratch_.write("termination-log", "");
    fs::create_directory(scratch_.path("hooks"));
  }

  void hook(const std::string& event, const std::string& lines) const {
    fs::create_directories(scratch_.path("hooks/" + event + ".d"));
    const std::string file = "hooks/" + event + ".d/10-hook";
    scratch_.write(file, "#!/usr/local/bin/payload lines\n" + lines + "\n");
    fs::permissions(scratch_.path(file), fs::perms(0755));
  }
  [[nodiscard]] std::unique_ptr<Container> run(const Words& options, const Words& command) const {
    return start({.command = command,
                  .options = options,
                  .flags = {"-v", scratch_.path("hooks") + ":/etc/trainit/hooks:ro", "-v",
                            scratch_.path("termination-log") + ":/dev/termination-log"}});
  }
  [[nodiscard]] std::string termination_log() const { return scratch_.read("termination-log"); }
};

TEST_F(Watches, WithTheOtherPolicyTheJobIsSavedAndScheduledAgain) {
  const auto job = run({"--perf-threshold=0.5", "--perf-policy=reschedule", "--perf-count=3"},
                       {"train", "2201.521", "3317.794921875"});
  EXPECT_EQ(job->wait(), 75);
  EXPECT_EQ(told("saved", 2), 2);
  EXPECT_THAT(termination_log(), AllOf(HasSubstr("performance: rank-"), HasSubstr("checkpoint")));
}

TEST_F(Watches, ANodeThatBecomesUnfitIsLeftWithACheckpoint) {
  hook("health", "fail-when /out/bad");
  const auto job = run({"--health-interval=200ms"}, {"train", "1", "2"});
  await_ranks(2);
  scratch_.write("out/bad", "");
  EXPECT_EQ(job->wait(), 75);
  EXPECT_EQ(told("saved", 2), 2);
  EXPECT_THAT(termination_log(),
              AllOf(HasSubstr("the node is not healthy"), HasSubstr("/out/bad is there")));
}

}  // namespace
}  // namespace docker
