#include "init/engine/report/printed_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using engine::FailedHow;
using engine::PrintedBy;
using engine::PrintedEnd;
using testing::HasSubstr;
using testing::IsEmpty;

PrintedBy printed(const std::string& task, const std::string& text) {
  return {task, [text] { return engine::LastBytes{.bytes = text}; }};
}

std::string raised(const std::string& exception) {
  return "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    f()\n" +
         exception + "\n";
}

std::vector<PrintedEnd> told(const PrintedBy& first, const std::vector<PrintedBy>& others,
                             FailedHow how = {}) {
  std::vector<PrintedEnd> all;
  engine::look_for_cause(first, others, how, envgen::FailureCatalog::shipped(),
                         [&](const PrintedEnd& end) { all.push_back(end); });
  return all;
}

TEST(PrintedCause, OfTheFirstNeedsNoOther) {
  const auto all = told(printed("rank-0", raised("ModuleNotFoundError: No module named 'a'")),
                        {printed("rank-1", raised("RuntimeError: CUDA out of memory"))});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].cause->failure_class, "python-import");
  EXPECT_EQ(all[0].cause->restart, "no");
  EXPECT_EQ(all[0].cause->task, "");
  EXPECT_EQ(all[0].last_lines.back(), "ModuleNotFoundError: No module named 'a'");
}

// What the first says is told before others are looked at, where one may hang.
TEST(PrintedCause, IsAnothersWhereTheFirstIsAVictimOrSilent) {
  for (const std::string first : {"", "ConnectionResetError\n",
                                  "Watchdog caught collective "
                                  "operation timeout: WorkNCCL\n"}) {
    const auto all = told(printed("rank-0", first),
                          {printed("rank-1", "step 1\n"),
                           printed("rank-2", raised("RuntimeError: CUDA out of memory"))});
    ASSERT_EQ(all.size(), 2U) << first;
    EXPECT_EQ(all[1].cause->task, "rank-2");
    EXPECT_EQ(all[1].last_lines, all[0].last_lines);
  }
}

// The other one lives, or may have gone on: its line is not what it ended with.
TEST(PrintedCause, OfAnotherNeverMakesARestartUseless) {
  const auto all = told(printed("rank-0", "ConnectionResetError\n"),
                        {printed("rank-1", "/bin/sh: 1: nvcc: not found\n")});
  for (const PrintedEnd& end : all) EXPECT_NE(end.cause->restart, "no") << end.cause->line;
}

TEST(PrintedCause, MakesAVictimOfWhoEndedByItself) {
  using Role = lifecycle::NodeFailure::Role;
  const auto catalog = envgen::FailureCatalog::shipped();
  const auto victim = engine::cause_in("ConnectionResetError\n", catalog);
  EXPECT_EQ(engine::role_of(victim, ""), Role::kVictim);
  EXPECT_EQ(engine::role_of(victim, "SIGABRT"), Role::kVictim);
  EXPECT_EQ(engine::role_of(victim, "SIGPIPE"), Role::kVictim);
  EXPECT_EQ(engine::role_of(victim, "SIGKILL"), Role::kOpen);
  EXPECT_EQ(engine::role_of(std::nullopt, "SIGKILL"), Role::kOpen);
  EXPECT_EQ(
      engine::role_of(engine::cause_in(raised("RuntimeError: CUDA out of memory"), catalog), ""),
      Role::kRoot);
}

TEST(PrintedCause, OfSeveralIsTheFirstsUnlessThatIsAVictim) {
  using Role = lifecycle::NodeFailure::Role;
  EXPECT_EQ(engine::likely_first({}), 0U);
  EXPECT_EQ(engine::likely_first({Role::kOpen, Role::kRoot}), 0U) << "it was seen first";
  EXPECT_EQ(engine::likely_first({Role::kVictim, Role::kVictim}), 0U);
  EXPECT_EQ(engine::likely_first({Role::kVictim, Role::kOpen, Role::kOpen}), 1U);
  EXPECT_EQ(engine::likely_first({Role::kVictim, Role::kOpen, Role::kRoot}), 2U);
}

TEST(PrintedCause, IsTheKernelsWhereItKilledForMemory) {
  const auto all = told(printed("rank-0", "CUDA out of memory\n"), {}, {.by_oom = true});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].cause->failure_class, "host-oom");
  EXPECT_EQ(engine::cause_text(*all[0].cause), "");
  EXPECT_TRUE(engine::is_by_kernel(*all[0].cause)) << "no rank's log is surer";
  const auto print = engine::cause_in("CUDA out of memory\n", envgen::FailureCatalog::shipped());
  EXPECT_FALSE(engine::is_by_kernel(*print));
  const auto guess =
      engine::cause_in("  exitcode  : -9 (pid: 71)\n", envgen::FailureCatalog::shipped());
  ASSERT_TRUE(guess);
  EXPECT_FALSE(engine::is_by_kernel(*guess)) << "a launcher's table is a guess: " << guess->line;
}

TEST(ShmText, IsOfAFullOrSmallOne) {
  constexpr std::uint64_t kMiB = 1U << 20;
  EXPECT_EQ(engine::shm_text(1024 * kMiB, 2 * kMiB),
            "/dev/shm is full, 2 MiB of 1024 MiB are free");
  EXPECT_EQ(engine::shm_text(64 * kMiB, 64 * kMiB), "/dev/shm has only 64 MiB");
  EXPECT_EQ(engine::shm_text(1024 * kMiB, 1000 * kMiB), "");
  EXPECT_EQ(engine::shm_text(0, 0), "");
}

TEST(FailureCatalogOfAnImage, IsReadFileByFileAndSaysWhatIsWrong) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / ("failures-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "10-ours.json")
      << R"({"failures":[{"id":"a","class":"licence","role":"root","restart":"no",)"
      << R"("match":["no licence left"],"advice":"wait"}]})";
  std::ofstream(directory / "20-bad.json") << "{";
  std::ofstream(directory / "notes.txt") << "{";
  std::filesystem::create_directory(directory / "30-not.json");
  std::vector<std::string> warnings;
  const auto catalog = engine::failure_catalog(directory, &warnings);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[0], HasSubstr("20-bad.json"));
  EXPECT_THAT(warnings[1], HasSubstr("30-not.json: found no file; remove it"));
  EXPECT_EQ(catalog.match("Error: no licence left", false).row->failure_class, "licence");
  warnings.clear();
  engine::failure_catalog(directory / "absent", &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  std::filesystem::remove_all(directory);
}

}  // namespace
