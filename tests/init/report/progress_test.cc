#include "init/report/progress.h"

#include <gmock/gmock.h>

#include "init/report/html.h"
#include "init/report/steps_svg.h"
#include "init/report/summary.h"
#include "init/report/text.h"

namespace report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kBegin = 1'700'000'000'000;

engine::TimelineEvent phase_at(std::int64_t after_ms, const char* name) {
  return {.at_ms = kBegin + after_ms, .event = "phase", .text = name};
}

engine::TimelineEvent steps(std::int64_t after_ms, const char* text) {
  return {.at_ms = kBegin + after_ms, .event = "steps", .text = text};
}

// Step 40 after 40 s; step 15 was saved, so the second start does steps 16 to 60.
NodeRun went_back() {
  NodeRun run;
  run.events = {{.at_ms = kBegin, .event = "begin"},
                phase_at(0, "running"),
                steps(1000, "rank-0 1 0 first 1, rank-1 1 0 first 1"),
                steps(20'000, "rank-0 20 0 saved 15"),
                steps(41'000, "rank-0 40 1000, rank-1 40 1000"),
                {.at_ms = kBegin + 41'000,
                 .event = "first_failure",
                 .task = "rank-1",
                 .text = "rank-1 failed"},
                phase_at(41'000, "stopping"),
                phase_at(42'000, "preparing"),
                phase_at(43'000, "running"),
                steps(44'000, "rank-0 16 0 first 16, rank-1 16 0 first 16"),
                steps(90'000, "rank-0 60 0, rank-1 60 0"),
                {.at_ms = kBegin + 90'000, .event = "exit", .exit_code = 0}};
  run.state = engine::JobReport{};
  run.state->state = "success";
  run.state->exit_code = 0;
  return run;
}

TEST(Progress, CountsStepsThatWereDoneTwiceAsLost) {
  const Progress progress = progress_of({went_back()}, false);
  EXPECT_EQ(progress.done, 85);
  EXPECT_EQ(progress.kept, 60);
  ASSERT_THAT(progress.ranks, SizeIs(2));
  EXPECT_EQ(progress.ranks[1].name, "rank-1");
  EXPECT_THAT(progress.ranks[1].starts, SizeIs(2));
  ASSERT_THAT(progress.lost, SizeIs(1));
  EXPECT_EQ(progress.lost[0].from_ms,
            kBegin + 15'000);                          // between the records of step 1 and step 20
  EXPECT_EQ(progress.lost[0].to_ms, kBegin + 41'000);  // until the stop
}

TEST(Progress, OfAJobThatReportsNoSavedStepResumesBeforeItsFirstStep) {
  NodeRun run = went_back();
  run.events[3].text = "rank-0 20 0";
  run.events[9].text = "rank-0 31 0 first 31, rank-1 31 0 first 31";
  const Progress progress = progress_of({run}, false);
  EXPECT_EQ(progress.done, 70);
  EXPECT_EQ(progress.kept, 60);
}

TEST(Progress, AfterTheLastSavedStepOfAFailedJobIsLost) {
  NodeRun run = went_back();
  run.events.resize(7);
  EXPECT_EQ(progress_of({run}, true).kept, 15);
  EXPECT_EQ(progress_of({run}, false).kept, 40);
  run.events[3].text = "rank-0 20 0";  // it may have saved without saying so
  EXPECT_EQ(progress_of({run}, true).kept, 40);
}

TEST(Progress, OfAThirdStartThatGoesBackFurtherLosesOfBothBefore) {
  NodeRun run = went_back();
  run.events.pop_back();
  run.events.push_back(steps(95'000, "rank-0 11 0 first 11"));
  run.events.push_back(steps(99'000, "rank-0 70 0"));
  const Progress progress = progress_of({run}, false);
  EXPECT_EQ(progress.done, 40 + 45 + 60);
  EXPECT_EQ(progress.kept, 70);
  EXPECT_THAT(progress.lost, SizeIs(2));
}

TEST(Progress, OfAProgressBarBeginsAt0) {
  NodeRun run;
  run.events = {steps(0, "rank-0 0 0 first 0"), steps(10'000, "rank-0 60 0")};
  EXPECT_EQ(progress_of({run}, false).done, 60);
}

TEST(Progress, OfABarThatShowsTheSavedStepAtFirstResumesThere) {
  NodeRun run = went_back();
  run.events[9].text = "rank-0 15 0 first 15, rank-1 15 0 first 15";
  const Progress progress = progress_of({run}, false);
  EXPECT_EQ(progress.done, 85);
  EXPECT_EQ(progress.kept, 60);
}

TEST(Progress, OfACountOfEachEpochHasNoFigures) {
  NodeRun run;
  run.events = {steps(0, "rank-0 1 0 first 1"), steps(1000, "rank-0 90 0"),
                steps(2000, "rank-0 3 0"), steps(9000, "rank-0 90 0")};
  const Progress progress = progress_of({run}, true);
  EXPECT_EQ(progress.done, 0);
  EXPECT_EQ(progress.kept, 0);
  EXPECT_THAT(progress.lost, IsEmpty());
  EXPECT_THAT(progress.ranks, SizeIs(1)) << "the picture has them";
}

TEST(Progress, KeepsRanksOfTheSameNameInTwoRunsApart) {
  NodeRun run;
  run.events = {steps(0, "main 1 0 first 1"), steps(10'000, "main 60 0")};
  const Progress progress = progress_of({run, run}, false);
  ASSERT_THAT(progress.ranks, SizeIs(2));
  EXPECT_EQ(progress.ranks[0].name, "main (run 1)");
  EXPECT_EQ(progress.ranks[1].name, "main (run 2)");
  EXPECT_EQ(progress.done, 60);
  EXPECT_EQ(progress.kept, 60);
}

TEST(Progress, AtTheEndHasWhatWasSavedLast) {
  NodeRun run;
  run.events = {steps(1000, "rank-0 1 0 first 1"),
                steps(40'000, "rank-0 40 0 saved 30"),
                steps(50'000, "rank-0 16 0 first 16"),
                steps(60'000, "rank-0 25 0 saved 20"),
                {.at_ms = kBegin + 70'000, .event = "exit", .exit_code = 1}};
  EXPECT_EQ(progress_of({run}, true).kept, 20);
}

TEST(Progress, OfDamagedEventsIsEmpty) {
  for (const char* text : {"", "rank-0", "rank-0 x 0", "rank-0 1", "rank-0 1 0 first", ", ,",
                           "rank-0 999999999999999999 0 first 1", "rank-0 -1 0"}) {
    NodeRun run;
    run.events = {steps(0, text)};
    EXPECT_THAT(progress_of({run}, true).ranks, IsEmpty()) << text;
  }
  EXPECT_EQ(progress_of({}, true).done, 0);
}

TEST(Goodput, IsTheShareOfTheTimeWhoseStepsCount) {
  const std::vector<NodeRun> runs{went_back()};
  const Summary summary = summary_of(runs);
  // Of 90 s: 15 s to 43 s are lost.
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(TimeShare::kLost)], 28'000);
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(TimeShare::kRunning)], 62'000);
  EXPECT_THAT(text_of(summary), AllOf(HasSubstr("85, of which 25 were lost (29.4 %)"),
                                      HasSubstr("68.9 % of the time")));
}

TEST(StepsPicture, HasALineForEachRankAndStartAndMarksWhatWasSavedAndLost) {
  const std::vector<NodeRun> runs{went_back()};
  const std::string svg = steps_svg_of(summary_of(runs));
  EXPECT_THAT(svg, AllOf(HasSubstr("rank-1: step 60 at"), HasSubstr("rank-0: step 40 at"),
                         HasSubstr("saved step 15"), HasSubstr("class=\"lost\""),
                         HasSubstr("rank-1 failed")));
  EXPECT_EQ(steps_svg_of(summary_of({})), "");
}

TEST(Html, BeginsWithTheJob) {
  std::vector<NodeRun> runs{went_back()};
  runs[0].state->command = "python3 train.py '<b>'";
  runs[0].state->job = "night-run";
  runs[0].state->trainit = "0.2.0";
  const std::string html = html_of(summary_of(runs));
  EXPECT_THAT(html, AllOf(HasSubstr("<dt>command</dt><dd>python3 train.py '&lt;b&gt;'</dd>"),
                          HasSubstr("<dd>night-run</dd>"), HasSubstr("<dd>0.2.0</dd>")));
}

}  // namespace
}  // namespace report
