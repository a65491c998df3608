// What it costs to watch lines, for performance and progress: lines through the tee with it and
// without it, and how much of that is the search for the line, in one process.

#include <stdio.h>

#include <array>
#include <string>
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

// MB/s of the scanner alone, over pieces as the tee reads them.
double scan(int every) {
  std::string piece;
  for (int line = 1; piece.size() < (1 << 16); ++line) {
    piece += line % every == 0
                 ? text("this iteration hardware time is %d.5 and e2e time is 3317.79 ms.\n", line)
                 : text("2026-11-20 10:00:%02d INFO step %d loss 2.%06d this is what a line is\n",
                        line % 60, line, line);
  }
  envgen::LineScanner scanner({*envgen::parse_perf_pattern("")});
  std::int64_t found = 0;
  std::size_t bytes = 0;
  const std::int64_t begin = now_ns();
  for (; bytes < (std::size_t{kMegabytes} << 20); bytes += piece.size()) {
    scanner.add(piece, [&found](std::size_t, const envgen::LineNumbers&) { ++found; });
  }
  if (found == 0) fail("nothing was found");
  return static_cast<double>(bytes) / (1 << 20) / (static_cast<double>(now_ns() - begin) / 1e9);
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
  printf("The search by itself: %.0f MB/s with 1 line of 100, %.0f with 1 of 2.\n\n", scan(100),
         scan(2));
}

}  // namespace bench
