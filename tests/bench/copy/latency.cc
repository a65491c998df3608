#include "tests/bench/copy/latency.h"

#include <stdio.h>
#include <unistd.h>

#include <vector>

#include "tests/bench/copy/copy_trees.h"
#include "tests/bench/copy/slow_disk.h"
#include "tests/bench/copy/ways.h"

namespace bench {
namespace {

constexpr int kStreams = 64;  // the most workers that trainit takes by itself

std::vector<CopyWay> ways_of(const Field& field) {
  std::vector<CopyWay> ways = {
      {"trainit copy", field.trainit + " copy --headroom 0% $FROM $TO", true},
      {"find | xargs -P32 cp",
       "mkdir $TO && cd $FROM && find . -type d -print0 | (cd $TO && xargs -0 mkdir -p) && "
       "find . -type f -print0 | xargs -0 -n 50 -P 32 cp -p --parents -t $TO"},
      {text("floor: 8 calls a file, %d processes", kStreams),
       field.self + text(" --program copy-floor $FROM $TO %d", kStreams)},
  };
  if (is_installed("rclone")) {
    ways.push_back(
        {"rclone copy, 32 transfers",
         "RCLONE_CONFIG=/dev/null rclone -q copy --transfers 32 --checkers 32 $FROM $TO"});
  }
  return ways;
}

}  // namespace

void measure_latency(const Field& field, const std::string& memory) {
  if (!is_wanted("latency")) return;
  const TreeShape shape{.name = "latency",
                        .files = is_quick() ? 2'000 : 20'000,
                        .bytes = 8 << 10,
                        .in_directory = 100};
  for (const bool lists : {true, false}) {
    for (const int ms : {1, 2, 5, 20}) {
      const SlowDisk slow(
          field.self, memory + "/slow",
          {.other_us = ms * 1000, .streams = 2 * kStreams, .lists_attributes = lists});
      if (!slow.is_there()) {
        printf("\nlatency: not measured, FUSE cannot be used here\n");
        return;
      }
      const std::string source = slow.mount_point() + "/source";
      make_tree(source, shape);
      slow.begin();
      std::vector<CopyWay> ways = ways_of(field);
      const CopyRoute route{.from = slow.mount_point(), .to = memory};
      for (int round = 0; round < (is_quick() ? 1 : 3); ++round) {
        for (const std::size_t index : shuffled(ways.size())) {
          sleep(2);  // the kernel's names and attributes are valid for a second
          ways[index].ms.push_back(time_of(field, ways[index], route, source));
        }
        for (CopyWay& way : ways) way.ratios.push_back(way.ms.back() / ways[0].ms.back());
      }
      show(ways, text("### %d files of 8 KiB from a file system that takes %d ms for each call, %s "
                      "READDIRPLUS",
                      shape.files, ms, lists ? "with" : "without"));
      remove_tree(memory + "/copy");
      remove_tree(memory + "/.trainit-copy.copy");
    }
  }
}

}  // namespace bench
