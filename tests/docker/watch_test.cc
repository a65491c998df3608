// The watches in a real engine: performance under both policies, a stalled rank, health. The image
// has no shell: hooks are scripts of the payload.

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

// The first rank's line goes through the tee, the other one's into its file.
TEST_F(Watches, ALineAboveTheThresholdIsAnAlertForEachRank) {
  const auto job = run({"--perf-threshold=0.5"}, {"train", "2201.521", "3317.794921875"});
  for (const char* rank : {"rank-0", "rank-1"}) {
    EXPECT_TRUE(job->await_log(std::string("performance: ") + rank +
                               " spent 2201.521 of 3317.794921 in hardware, ratio 0.663549"));
  }
  job->stop();
  EXPECT_EQ(job->wait(), 143);
  EXPECT_EQ(told("saved", 2), 0);
}

TEST_F(Watches, WithTheOtherPolicyTheJobIsSavedAndScheduledAgain) {
  const auto job = run({"--perf-threshold=0.5", "--perf-policy=reschedule", "--perf-count=3"},
                       {"train", "2201.521", "3317.794921875"});
  EXPECT_EQ(job->wait(), 75);
  EXPECT_EQ(told("saved", 2), 2);
  EXPECT_THAT(termination_log(), AllOf(HasSubstr("performance: rank-"), HasSubstr("checkpoint")));
}

TEST_F(Watches, AStalledRankIsReportedAfterItsHooksAndMayEndTheJob) {
  hook("stall", "journal $TRAINIT_HOOK $TRAINIT_STALLED_RANK");
  const auto job = run({"--stall-timeout=2s", "--stall-action=end"},
                       {"on-rank", "1", "sleep-forever", "else", "train", "1", "2"});
  EXPECT_EQ(job->wait(), 70);
  EXPECT_EQ(scratch_.read("out/journal"), "stall 1\n");
  EXPECT_THAT(job->logs(), AllOf(HasSubstr("rank-1 makes no progress: no output and no CPU time"),
                                 HasSubstr("stopped because of it: rank-0")));
  EXPECT_THAT(termination_log(), HasSubstr("rank-1"));
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
