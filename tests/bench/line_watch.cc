// What it costs to watch lines, for performance and progress: lines through the tee with it and
// without it, and how much of that is the search for the line, in one process.

#include <stdio.h>
#include <string.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/formats/perf_line.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kMegabytes = 256;
constexpr int kRounds = 5;

struct Way {
  const char* name;
  Words options;
  int every;            // of so many lines one tells the times of an iteration
  std::size_t without;  // the way that reads the same without a watch
  std::vector<double> ms = {};
  std::vector<double> ratios = {};  // to the tee without the watch, of the same round
};

double run_once(const Field& field, const Way& way) {
  Words words = {field.trainit};
  words.insert(words.end(), way.options.begin(), way.options.end());
  words.insert(words.end(), {"--", field.self, "--program", "train", std::to_string(kMegabytes),
                             std::to_string(way.every)});
  const Command command(words);
  const std::int64_t begin = now_ns();
  if (finish(start(command, {})) != 0) fail(way.name);
  return static_cast<double>(now_ns() - begin) / 1e6;
}

// As the tee reads them.
std::string piece_of_lines(int every) {
  std::string piece;
  for (int line = 1; piece.size() < (1 << 16); ++line) {
    piece += line % every == 0
                 ? text("this iteration hardware time is %d.5 and e2e time is 3317.79 ms.\n", line)
                 : text("2026-11-20 10:00:%02d INFO step %d loss 2.%06d this is what a line is\n",
                        line % 60, line, line);
  }
  return piece;
}

// MB/s of `search` alone, which adds to `found`.
template <class Search>
double speed_of(int every, const Search& search) {
  const std::string piece = piece_of_lines(every);
  std::int64_t found = 0;
  std::size_t bytes = 0;
  const std::int64_t begin = now_ns();
  for (; bytes < (std::size_t{kMegabytes} << 20); bytes += piece.size()) search(piece, found);
  if (found == 0) fail("nothing was found");
  return static_cast<double>(bytes) / (1 << 20) / (static_cast<double>(now_ns() - begin) / 1e9);
}

double scan(int every) {
  envgen::LineScanner scanner({*envgen::parse_perf_pattern("")});
  return speed_of(every, [&scanner](const std::string& piece, std::int64_t& found) {
    scanner.add(piece, [&found](std::size_t, const envgen::LineNumbers&) { ++found; });
  });
}

// What nothing can do without that reads these lines: their ends, the begin of each, two numbers.
double floor_of_scan(int every) {
  return speed_of(every, [](const std::string& piece, std::int64_t& found) {
    constexpr std::string_view kHead = "this iteration hardware time is ";
    constexpr std::string_view kBetween = " and e2e time is ";
    for (const char* at = piece.data(); at < piece.data() + piece.size();) {
      const auto rest = static_cast<std::size_t>(piece.data() + piece.size() - at);
      const auto* end = static_cast<const char*>(memchr(at, '\n', rest));
      if (end == nullptr) break;
      if (std::string_view(at, end).starts_with(kHead)) {
        double hardware = 0;
        double e2e = 0;
        const auto first = std::from_chars(at + kHead.size(), end, hardware);
        std::from_chars(first.ptr + kBetween.size(), end, e2e);
        if (hardware > 0 && e2e > 0) ++found;
      }
      at = end + 1;
    }
  });
}

}  // namespace

void line_watch(const Field& field) {
  printf("## Lines that are watched: a rank that prints %d MB to /dev/null; medians of %d runs\n\n",
         kMegabytes, kRounds);
  const Words watch = {"--log-prefix=1", "--perf-threshold=100"};
  const Words steps = {"--log-prefix=1", "--progress=iteration hardware time is {step}.",
                       "--progress=saved at step {saved}"};
  std::array ways = {
      Way{"no tee", {}, 100, 1},
      Way{"tee, prefix; 1 line of 100", {"--log-prefix=1"}, 100, 1},
      Way{"tee, prefix; 1 line of 2", {"--log-prefix=1"}, 2, 2},
      Way{"tee, prefix, performance; 1 line of 100", watch, 100, 1},
      Way{"tee, prefix, performance; 1 line of 2", watch, 2, 2},
      Way{"tee, prefix, progress, 2 patterns; 1 line of 100", steps, 100, 1},
      Way{"tee, prefix, progress, 2 patterns; 1 line of 2", steps, 2, 2},
  };
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t index : shuffled(ways.size())) {
      ways[index].ms.push_back(run_once(field, ways[index]));
    }
    for (Way& way : ways) way.ratios.push_back(way.ms.back() / ways[way.without].ms.back());
  }
  Table table({"output", "MB/s", "time / tee without the watch", "paired, least to most"});
  for (const Way& way : ways) {
    table.add({way.name, text("%.0f", kMegabytes * 1000 / median(way.ms)),
               text("%.2f", median(way.ratios)),
               text("%.2f to %.2f", quantile(way.ratios, 0), quantile(way.ratios, 1))});
  }
  table.print();
  printf("The search by itself: %.0f MB/s with 1 line of 100, %.0f with 1 of 2.\n", scan(100),
         scan(2));
  printf(
      "Floor, ends of lines and two numbers: %.0f MB/s with 1 line of 100, %.0f with 1 of 2.\n\n",
      floor_of_scan(100), floor_of_scan(2));
}

}  // namespace bench
