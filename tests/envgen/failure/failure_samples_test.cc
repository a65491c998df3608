// Real failure logs (TRAINIT_SAMPLES): how often the right line is shown. A floor for all of them,
// not a list of what each one gives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "envgen/failure/find_cause.h"

namespace envgen {
namespace {

constexpr std::size_t kComparedBytes = 300;

struct FailureSample {
  std::string printed, failure_class, cause_line, restart;
};

std::string text_of_sample(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Blanks do not matter: labels have one where a log has many.
std::string squeezed_line(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : words_of(text)) words.emplace_back(word);
  return joined(words, " ");
}

class FailureSamples : public testing::Test {
 protected:
  void SetUp() override {
    const char* samples = std::getenv("TRAINIT_SAMPLES");
    if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
    const std::filesystem::path directory = std::filesystem::path(samples) / "failures";
    const std::string labels = text_of_sample(directory / "labels.tsv");
    std::string_view rest = labels;
    take_line(rest);
    while (!rest.empty()) {
      const auto parts = split(take_line(rest), '\t');
      if (parts.size() < 5) continue;
      samples_.push_back({text_of_sample(directory / parts[0]), std::string(parts[1]),
                          squeezed_line(parts[3]).substr(0, kComparedBytes),
                          std::string(parts[4])});
    }
    ASSERT_GT(samples_.size(), 50U);
  }
  std::vector<FailureSample> samples_;
  FailureCatalog catalog_ = FailureCatalog::shipped();
};

TEST_F(FailureSamples, ShowsTheRightLineOfNineInTen) {
  std::size_t all = 0;
  std::size_t right = 0;
  for (const FailureSample& sample : samples_) {
    if (sample.cause_line == "-") continue;
    ++all;
    const auto cause = find_cause(sample.printed, catalog_);
    if (cause && squeezed_line(cause->line).find(sample.cause_line) != std::string::npos) ++right;
  }
  EXPECT_GE(right * 10, all * 9) << right << " of " << all;
  RecordProperty("right", static_cast<int>(right));
}

TEST_F(FailureSamples, NeverSaysThatARestartIsUselessWhereOneCouldHelp) {
  for (const FailureSample& sample : samples_) {
    const auto cause = find_cause(sample.printed, catalog_);
    if (sample.restart == "no" || !cause) continue;
    EXPECT_NE(cause->restart, RestartHelps::kNo) << cause->line;
  }
}

TEST_F(FailureSamples, FindsNothingInHealthyLogs) {
  for (const FailureSample& sample : samples_) {
    if (sample.cause_line != "-") continue;
    const auto cause = find_cause(sample.printed, catalog_);
    EXPECT_FALSE(cause) << cause->line;
  }
}

}  // namespace
}  // namespace envgen
