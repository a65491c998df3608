#include "init/engine/report/wait_view.h"

#include <gmock/gmock.h>

#include "init/copy/progress.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "tests/init/child.h"

namespace {

using engine::DataRecord;
using engine::Job;
using engine::wait_text;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kNow = 1'000'000;

Job waiting_since(std::int64_t ms) {
  Job job;
  job.waiting_for = "2 of 4 nodes before the start: job-2, job-3";
  job.waiting_since_ms = kNow - ms;
  return job;
}

DataRecord& add_half_copied(Job& job, const std::string& name) {
  DataRecord& data = job.data.emplace_back();
  data.dataset.name = name;
  data.state = DataRecord::State::kRunning;
  data.progress.phase = static_cast<std::uint32_t>(copy::Phase::kCopying);
  data.progress.entries = 5;
  data.progress.total_entries = 10;
  return data;
}

TEST(WaitText, SaysWhomItWaitsForAndSinceWhen) {
  EXPECT_EQ(wait_text(waiting_since(80'000), kNow, 100),
            "waiting for 2 of 4 nodes before the start: job-2, job-3 (1m 20s)");
  EXPECT_EQ(wait_text(waiting_since(10), kNow, 100),
            "waiting for 2 of 4 nodes before the start: job-2, job-3");
  EXPECT_EQ(wait_text({}, kNow, 100), "");
}

TEST(WaitText, CutsWhomAndNotSinceWhen) {
  EXPECT_EQ(wait_text(waiting_since(80'000), kNow, 41), "waiting for 2 of 4 nodes befor> (1m 20s)");
  Job job = waiting_since(80'000);
  add_half_copied(job, "set");
  for (int columns = -5; columns < 120; ++columns) {
    EXPECT_LE(wait_text(job, kNow, columns).size(),
              static_cast<std::size_t>(std::max(columns - 1, 0)));
  }
}

TEST(WaitText, CutsBetweenCharacters) {
  Job job;
  job.waiting_for = "结点结点结点结点";
  job.waiting_since_ms = kNow;
  EXPECT_EQ(wait_text(job, kNow, 17), "waiting for 结点结>");
}

TEST(WaitText, HasTheBarOfTheDataThatIsCopied) {
  Job job;
  add_half_copied(job, "set");
  EXPECT_THAT(wait_text(job, kNow, 80), testing::StartsWith("data set: copying  50% [===="));
  add_half_copied(job, "other");
  EXPECT_THAT(wait_text(job, kNow, 80), testing::StartsWith("data set (1 of 2): copying  50%"));
  job.data[0].state = DataRecord::State::kReady;
  EXPECT_THAT(wait_text(job, kNow, 80), testing::StartsWith("data other (2 of 2): copying  50%"));
}

TEST(WaitText, HasBothBesideEachOther) {
  Job job = waiting_since(5000);
  add_half_copied(job, "set");
  EXPECT_EQ(wait_text(job, kNow, 100),
            "waiting for 2 of 4 nodes before the start: job-2, job-3 (5s); data set 50%");
}

// What changes at each look would fill a log.
TEST(WaitView, SaysTheFirstLinesAtOnceAndOthersNotTooOften) {
  constexpr int kLate = 2;
  const auto show_hundred = [] {
    constexpr std::int64_t kPauseMs = 2000;  // then the next one is due
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    const lifecycle::Machine machine({}, {lifecycle::TaskKind::kResolve});
    engine::WaitView view;
    Job job;
    const std::int64_t start_ms = sys::monotonic_ms();
    for (int i = 0; i < 100; ++i) {
      note_waiting(job, "node " + std::to_string(i));
      view.show(job, machine);
    }
    const bool due = view.due_ms().has_value();
    note_waiting(job, "");
    view.show(job, machine);
    if (sys::monotonic_ms() - start_ms >= kPauseMs) return kLate;
    return due && !view.due_ms() ? 0 : 1;
  };
  child::Outcome outcome = child::run(show_hundred);
  constexpr int kTries = 5;
  for (int i = 1; i < kTries && outcome.code == kLate; ++i) outcome = child::run(show_hundred);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(
      outcome.err,
      "trainit: waiting for node 0\ntrainit: waiting for node 1\ntrainit: waiting for node 2\n"
      "trainit: waiting for node 3\n");
}

}  // namespace
