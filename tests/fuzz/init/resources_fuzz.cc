// Any text as a "resources" event of a timeline, as /proc/<pid>/statm, and as /proc/<pid>/stat.

#include <cstddef>
#include <cstdint>
#include <string>

#include "init/proc/load.h"
#include "init/proc/memory_use.h"
#include "init/report/resources.h"
#include "init/report/resources_svg.h"
#include "init/report/summary.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_events(const std::string& text) {
  report::NodeRun run;
  run.events = {{.at_ms = 5000, .event = "resources", .text = "10 20 0, rank-0 5 100"},
                {.at_ms = 6000, .event = "resources", .text = text},
                {.at_ms = 7000, .event = "resources", .text = "10 20 0, " + text}};
  const std::vector<report::NodeRun> runs{run};
  const report::Summary summary = report::summary_of(runs);
  for (const report::RankUse& rank : summary.nodes[0].chart.resources.ranks) {
    require(!rank.name.empty() && rank.memory_bytes.size() == rank.cpu_hundredths.size());
    require(report::peak_of(rank.memory_bytes) >= -1 && report::peak_of(rank.cpu_hundredths) >= -1);
  }
  require(!report::memory_svg_of(summary).empty() && !report::cpu_svg_of(summary).empty());
}

}  // namespace

TRAINIT_FUZZER(resources) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_events(text);
  const auto pages = proc::parse_statm(text);
  if (pages) require(pages->mapped >= 0 && pages->mapped <= pages->resident);
  const auto load =
      proc::parse_load("12 (a) S 1 12 9 0 -1 4194560 1 2 3 4 1 2 3 4 20 0 1 0 " + text);
  if (load) require(load->pid == 12);
  return 0;
}
