// Real failure logs (TRAINIT_SAMPLES): how often the right line is shown as they are, and that what
// stands before or behind them without harm changes nothing. Floors for all of them, not a list of
// what each one gives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "envgen/failure/find_cause.h"
#include "tests/source_path.h"

namespace envgen {
namespace {

constexpr std::size_t kComparedBytes = 300;

struct FailureSample {
  std::string name, printed;
  std::vector<std::string> classes, lines;  // any of them is right; no lines: a healthy log
  std::vector<std::string> restart;
  HowEnded how{.exit_code = 1};
  std::string alone;  // the line that is shown of it
  [[nodiscard]] bool healthy() const { return lines.empty(); }
};

std::string text_of_sample(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Blanks do not matter: labels have one where a log has many.
std::string squeezed_line(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : base::words_of(text)) words.emplace_back(word);
  return base::joined(words, " ");
}

std::vector<std::string> label_parts(std::string_view text, std::string_view mark) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.push_back(squeezed_line(text.substr(0, at)).substr(0, kComparedBytes));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + mark.size());
  }
}

// `columns`: those of class, restart and line.
void add_samples(const std::string& folder, const std::vector<std::size_t>& columns,
                 std::vector<FailureSample>& samples) {
  const std::filesystem::path directory =
      std::filesystem::path(std::getenv("TRAINIT_SAMPLES")) / folder;
  const std::string labels = text_of_sample(directory / "labels.tsv");
  std::string_view rest = labels;
  base::take_line(rest);
  while (!rest.empty()) {
    const auto parts = base::split(base::take_line(rest), '\t');
    if (parts.size() < 6) continue;
    FailureSample sample{.name = std::string(parts[0]),
                         .printed = text_of_sample(directory / parts[0]),
                         .classes = label_parts(parts[columns[0]], ","),
                         .restart = label_parts(parts[columns[1]], ",")};
    if (parts[columns[2]] != "-") sample.lines = label_parts(parts[columns[2]], "||");
    samples.push_back(std::move(sample));
  }
}

const FailureCatalog& shipped_rows() {
  static const FailureCatalog catalog = FailureCatalog::shipped();
  return catalog;
}

std::string sample_line(const std::optional<FoundCause>& cause) {
  return cause ? cause->line : "-";
}

bool right_line(const FailureSample& sample, const std::optional<FoundCause>& cause) {
  const std::string line = squeezed_line(sample_line(cause));
  return std::ranges::any_of(
      sample.lines, [&](const std::string& part) { return line.find(part) != std::string::npos; });
}

bool right_class(const FailureSample& sample, const std::optional<FoundCause>& cause) {
  return cause && std::ranges::find(sample.classes, cause->failure_class) != sample.classes.end();
}

// Prints which logs are below the floor, where SHOW_SAMPLES is set.
void note(const std::string& text) {
  if (std::getenv("SHOW_SAMPLES") != nullptr) std::cout << text << "\n";
}

// A restart is refused although one could help.
bool wrong_no(const FailureSample& sample, const std::optional<FoundCause>& cause) {
  return cause && cause->restart == RestartHelps::kNo &&
         std::ranges::find(sample.restart, "no") == sample.restart.end();
}

std::vector<std::string> harmless_lines() {
  std::vector<std::string> all;
  std::ifstream file(source_path("tests/envgen/failure/harmless_lines.txt"));
  for (std::string line; std::getline(file, line);) {
    for (std::size_t at = line.find("\\n"); at != line.npos; at = line.find("\\n")) {
      line.replace(at, 2, "\n");
    }
    all.push_back(line + "\n");
  }
  return all;
}

// Work in several languages and forms.
std::string work_lines(int count, std::size_t form) {
  std::string all;
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    const std::string forms[] = {
        "第" + n + "批 损失 " + std::to_string(3.0 / i) + "\n",
        "batch " + n + "/9000 " + std::to_string(100 + i % 7) + ".5 samples/s\n",
        "Schritt " + n + ": Verlust 0," + std::to_string(900 - i) + "\n",
        "エポック 1 反復 " + n + " 損失 0." + std::to_string(900 - i) + "\n",
        " " + n + "%|" + std::string(static_cast<std::size_t>(i % 40), '#') + "| " + n + "/200\r",
        "2025-06-01 10:00:0" + std::to_string(i % 10) + ",123 INFO trainer: done=" + n + "\n",
    };
    all += forms[form % std::size(forms)];
  }
  return all;
}
constexpr std::size_t kWorkForms = 6;

const std::string kHandledTraceback =
    "could not read shard 3, it is skipped\n"
    "Traceback (most recent call last):\n"
    "  File \"/work/data.py\", line 71, in load\n"
    "    raise ValueError(path)\n"
    "ValueError: shard-3.tar is empty\n";

class FailureSamples : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TRAINIT_SAMPLES") == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
    add_samples("failures", {1, 4, 3}, samples_);
    add_samples("failures-2", {1, 3, 4}, samples_);
    ASSERT_GT(samples_.size(), 150U);
    for (FailureSample& sample : samples_) {
      sample.alone = sample_line(find_cause(sample.printed, shipped_rows(), sample.how));
    }
  }

  // Puts `before` in front of each log, or of each of `step`: the number of those whose line is
  // then another one.
  std::size_t count_changed(const std::string& before, std::size_t step = 1) {
    std::size_t changed = 0;
    for (const FailureSample& sample : samples_) {
      if (sample.healthy() || ++taken_ % step != 0) continue;
      const auto cause = find_cause(before + sample.printed, shipped_rows(), sample.how);
      ++all_;
      if (sample_line(cause) != sample.alone) {
        ++changed;
        note(sample.name + " behind " + before + ": " + sample_line(cause) + ", not " +
             sample.alone);
      }
      EXPECT_FALSE(wrong_no(sample, cause)) << sample.name << " behind " << before;
    }
    return changed;
  }

  std::vector<FailureSample> samples_;
  std::size_t all_ = 0, taken_ = 0;
};

TEST_F(FailureSamples, ShowsTheRightLineAndClassOfNineteenInTwenty) {
  std::size_t all = 0, lines = 0, both = 0;
  std::size_t ascend = 0, ascend_right = 0;
  for (const FailureSample& sample : samples_) {
    if (sample.healthy()) continue;
    const auto cause = find_cause(sample.printed, shipped_rows(), sample.how);
    const bool line = right_line(sample, cause);
    const bool right = line && right_class(sample, cause);
    ++all;
    lines += line ? 1 : 0;
    both += right ? 1 : 0;
    const bool is_ascend = sample.name.find("scend") != std::string::npos ||
                           sample.classes[0] == "hccl" || sample.classes[0] == "ascend-env";
    ascend += is_ascend ? 1 : 0;
    ascend_right += is_ascend && right ? 1 : 0;
    if (!right) {
      note(sample.name + ": " + (cause ? cause->failure_class : "-") + ", " + sample_line(cause) +
           "\n  not " + sample.classes[0] + ", " + sample.lines[0]);
    }
  }
  note("right lines " + std::to_string(lines) + ", with the class " + std::to_string(both) +
       " of " + std::to_string(all) + "; Ascend " + std::to_string(ascend_right) + " of " +
       std::to_string(ascend));
  EXPECT_GE(both * 20, all * 19) << both << " of " << all;
  EXPECT_GE(ascend_right * 10, ascend * 9) << ascend_right << " of " << ascend;
}

TEST_F(FailureSamples, NeverSaysThatARestartIsUselessWhereOneCouldHelp) {
  for (const FailureSample& sample : samples_) {
    const auto cause = find_cause(sample.printed, shipped_rows(), sample.how);
    EXPECT_FALSE(wrong_no(sample, cause)) << sample.name << ": " << sample_line(cause);
  }
}

TEST_F(FailureSamples, FindsNothingInHealthyLogs) {
  for (const FailureSample& sample : samples_) {
    if (!sample.healthy()) continue;
    EXPECT_EQ(sample_line(find_cause(sample.printed, shipped_rows(), sample.how)), "-")
        << sample.name;
    EXPECT_EQ(sample_line(find_cause(sample.printed, shipped_rows(), {.exit_code = 1})), "-")
        << sample.name;
    EXPECT_EQ(sample_line(find_cause(sample.printed, shipped_rows(), {.killed = true})), "-")
        << sample.name;
  }
}

TEST_F(FailureSamples, ShowsTheSameLineBehindAHarmlessOne) {
  std::size_t changed = 0;
  for (const std::string& line : harmless_lines()) changed += count_changed(line);
  EXPECT_EQ(changed, 0U) << "of " << all_;
}

TEST_F(FailureSamples, ShowsTheSameLineBehindHarmlessLinesAndWork) {
  std::size_t changed = 0;
  std::size_t form = 0;
  std::string all;
  for (const std::string& line : harmless_lines()) {
    changed += count_changed(line + work_lines(60, form++), 4);
    all += line;
  }
  changed += count_changed(work_lines(20, 1) + all + work_lines(20, 1));
  for (std::size_t i = 0; i < kWorkForms; ++i) {
    changed += count_changed(kHandledTraceback + work_lines(12, i), 2);
  }
  EXPECT_EQ(changed, 0U) << "of " << all_;
}

TEST_F(FailureSamples, InventsNoCauseForASilentEnd) {
  std::size_t form = 0;
  for (const std::string& line : harmless_lines()) {
    const std::string both[] = {line + work_lines(200, form),
                                work_lines(20, form) + line + work_lines(12, form),
                                kHandledTraceback + line + work_lines(40, form)};
    ++form;
    for (const std::string& printed : both) {
      for (const HowEnded how : {HowEnded{.exit_code = 1}, HowEnded{.killed = true}}) {
        EXPECT_EQ(sample_line(find_cause(printed, shipped_rows(), how)), "-") << line << form;
      }
    }
    EXPECT_EQ(sample_line(find_cause(line + "loading\nmodel has 3 layers\n", shipped_rows(),
                                     {.killed = true})),
              "-");
  }
}

// The kernel's counter tells of the memory; what is printed refuses no restart.
TEST_F(FailureSamples, RefusesNoRestartOfWhatWasKilled) {
  for (const FailureSample& sample : samples_) {
    const auto cause =
        find_cause(sample.printed + work_lines(5, 1), shipped_rows(), {.killed = true});
    EXPECT_TRUE(!cause || cause->restart != RestartHelps::kNo) << sample.name;
  }
}

}  // namespace
}  // namespace envgen
