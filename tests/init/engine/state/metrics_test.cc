#include "init/engine/state/metrics.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

namespace {

using engine::JobReport;
using engine::metrics_text;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNowMs = 1'700'000'010'250;

JobReport running() {
  JobReport report;
  report.phase = "running";
  report.state = "running";
  report.platform = "local";
  report.framework = "pytorch";
  report.world_size = 16;
  report.restarts = 2;
  report.started_ms = 1'700'000'000'000;
  report.tasks.resize(3);
  report.tasks[0] = {.name = "resolver", .kind = "resolve", .state = "ended"};
  report.tasks[1] = {.name = "rank-0", .kind = "main", .state = "running"};
  report.tasks[1].pid = 7;
  report.tasks[1].last_output_ms = kNowMs - 2005;
  report.tasks[2] = {.name = "rank-1", .kind = "main", .state = "ended"};
  return report;
}

TEST(Metrics, TellWhatAScraperWantsToKnow) {
  EXPECT_THAT(metrics_text(running(), kNowMs),
              AllOf(HasSubstr("\ntrainit_phase{phase=\"running\"} 1\n"),
                    HasSubstr("\ntrainit_phase{phase=\"hold\"} 0\n"),
                    HasSubstr("\ntrainit_restarts_total 2\n"),
                    HasSubstr("\ntrainit_ranks{state=\"running\"} 1\n"),
                    HasSubstr("\ntrainit_ranks{state=\"ended\"} 1\n"),
                    HasSubstr("\ntrainit_rank_silent_seconds{task=\"rank-0\"} 2.005\n"),
                    HasSubstr("\ntrainit_start_timestamp_seconds 1700000000.000\n"),
                    Not(HasSubstr("trainit_exit_code")), Not(HasSubstr("trainit_healthy"))));
}

TEST(Metrics, StillTellOfARankThatIsStopped) {
  JobReport report = running();
  report.tasks[1].state = "stopped";
  EXPECT_THAT(metrics_text(report, kNowMs),
              AllOf(HasSubstr("\ntrainit_ranks{state=\"stopped\"} 1\n"),
                    HasSubstr("\ntrainit_rank_silent_seconds{task=\"rank-0\"} 2.005\n")));
}

TEST(Metrics, OfAJobThatHasFailedHaveItsExitCode) {
  JobReport report = running();
  report.state = "error";
  report.exit_code = 137;
  report.health = "disk: full";
  EXPECT_THAT(metrics_text(report, kNowMs),
              AllOf(HasSubstr("\ntrainit_exit_code 137\n"), HasSubstr("\ntrainit_failed 1\n"),
                    HasSubstr("\ntrainit_healthy 0\n")));
}

TEST(Metrics, OfStepsAreThoseThatAreKnown) {
  JobReport report = running();
  EXPECT_THAT(metrics_text(report, kNowMs),
              AllOf(Not(HasSubstr("_step")), Not(HasSubstr("lost_lines"))));
  report.tasks[2].step = 0;
  EXPECT_THAT(metrics_text(report, kNowMs),
              AllOf(HasSubstr("\n# TYPE trainit_rank_step gauge\n"
                              "trainit_rank_step{task=\"rank-1\"} 0\n"),
                    Not(HasSubstr("rank_step{task=\"rank-0\"}")), Not(HasSubstr("saved_step"))));
  report.tasks[1].saved_step = 1000;
  EXPECT_THAT(metrics_text(report, kNowMs),
              HasSubstr("\ntrainit_rank_saved_step{task=\"rank-0\"} 1000\n"));
}

TEST(Metrics, OfLostLinesAreACounter) {
  JobReport report = running();
  report.lost = {{"stdout", 12}, {"files", 0}};
  EXPECT_THAT(metrics_text(report, kNowMs),
              AllOf(HasSubstr("\n# TYPE trainit_log_lost_lines counter\n"
                              "trainit_log_lost_lines_total{to=\"stdout\"} 12\n"),
                    HasSubstr("\ntrainit_log_lost_lines_total{to=\"files\"} 0\n")));
}

// What OpenMetrics asks for beyond a look: no empty line, each family once and in one piece, the
// end marked.
TEST(Metrics, AreOpenMetrics) {
  JobReport report = running();
  report.platform = "a\"b\\c\nd";
  report.tasks[1].step = report.tasks[1].saved_step = 7;
  report.lost = {{"stdout", 12}};
  const std::string text = metrics_text(report, kNowMs);
  EXPECT_THAT(text, testing::EndsWith("\n# EOF\n"));
  EXPECT_THAT(text, HasSubstr("platform=\"a\\\"b\\\\c\\\\nd\""));
  std::istringstream lines(text);
  std::set<std::string> families;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_NE(line, "");
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(line.starts_with(family)) << line;
    }
  }
}

}  // namespace
