#include "tests/golden/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "tests/golden/plans.h"

namespace golden {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kContext = 3;
constexpr std::size_t kMaxCells = 25'000'000;  // of the table of common lines

Lines lines_in(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A line of the merged texts, with its kind: ' ', '-' or '+'.
struct Merged {
  char kind;
  std::string line;
};

// lengths[i][j]: the longest common part of old from i and now from j.
class CommonLines {
 public:
  CommonLines(const Lines& old, const Lines& now)
      : width_(now.size() + 1), lengths_((old.size() + 1) * width_, 0) {
    for (std::size_t i = old.size(); i-- > 0;) {
      for (std::size_t j = now.size(); j-- > 0;) {
        lengths_[i * width_ + j] =
            old[i] == now[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  [[nodiscard]] unsigned at(std::size_t i, std::size_t j) const { return lengths_[i * width_ + j]; }

 private:
  std::size_t width_;
  std::vector<unsigned> lengths_;
};

std::vector<Merged> merged(const Lines& old, const Lines& now) {
  std::vector<Merged> all;
  std::size_t i = 0;
  std::size_t j = 0;
  if ((old.size() + 1) * (now.size() + 1) <= kMaxCells) {
    const CommonLines common(old, now);
    while (i < old.size() && j < now.size()) {
      if (old[i] == now[j]) {
        all.push_back({' ', old[i++]});
        ++j;
      } else if (common.at(i + 1, j) >= common.at(i, j + 1)) {
        all.push_back({'-', old[i++]});
      } else {
        all.push_back({'+', now[j++]});
      }
    }
  }
  while (i < old.size()) all.push_back({'-', old[i++]});
  while (j < now.size()) all.push_back({'+', now[j++]});
  return all;
}

}  // namespace

std::string difference(const std::string& old, const std::string& now) {
  const std::vector<Merged> all = merged(lines_in(old), lines_in(now));
  std::string text;
  std::size_t line = 0;   // of the old text
  std::size_t shown = 0;  // lines of `all` that are printed or passed over
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at].kind != '+') ++line;
    const std::size_t first = at < kContext ? 0 : at - kContext;
    const std::size_t last = std::min(at + kContext + 1, all.size());
    const bool near = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(first),
                                  all.begin() + static_cast<std::ptrdiff_t>(last),
                                  [](const Merged& one) { return one.kind != ' '; });
    if (!near) continue;
    if (shown < at || at == 0) text += "@@ line " + std::to_string(line) + " @@\n";
    text += all[at].kind + all[at].line + "\n";
    shown = at + 1;
  }
  if (text.empty() && old != now) text = "only the last line end differs\n";
  return text;
}

void expect_file(const std::string& name, const std::string& text) {
  const std::string path = directory() + name;
  if (std::getenv("TRAINIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  const std::string old = read_file(path);
  EXPECT_TRUE(text == old) << path << " (-) is not what is printed now (+):\n"
                           << difference(old, text);
}

namespace {

TEST(Difference, ShowsTheLinesWithTheirSurroundings) {
  EXPECT_EQ(difference("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(difference("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n"),
            "@@ line 3 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
  EXPECT_EQ(difference("a\n", "a\nb\n"), "@@ line 1 @@\n a\n+b\n");
  EXPECT_EQ(difference("", "b\n"), "@@ line 0 @@\n+b\n");
}

}  // namespace

}  // namespace golden
