#include "tests/bench/copy/ways.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/copy/copy_trees.h"

namespace bench {

bool is_quick() { return getenv("TRAINIT_BENCH_QUICK") != nullptr; }

bool is_wanted(const std::string& set) {
  const char* wanted = getenv("TRAINIT_BENCH_SETS");
  return wanted == nullptr ||
         (" " + std::string(wanted) + " ").find(" " + set + " ") != std::string::npos;
}

bool is_installed(const char* program) {
  return system(("command -v " + std::string(program) + " >/dev/null").c_str()) == 0;
}

double time_of(const Field& field, const CopyWay& way, const CopyRoute& route,
               const std::string& source) {
  const std::string to = route.to + "/copy";
  if (route.fresh == nullptr) {
    remove_tree(to);
    remove_tree(route.to + "/.trainit-copy.copy");
    settle_disk(route.to);
  } else if (!route.fresh->remake()) {
    fail("making a file system");
  }
  settle_disk(source);
  if (route.cold && !drop_caches()) fail("dropping caches");
  const std::string script = "FROM=" + source + " TO=" + to + "; " + way.command;
  return measure({"/bin/sh", "-c", script}, field.folder + "/said").wall_ms;
}

void show(const std::vector<CopyWay>& ways, const std::string& title) {
  printf("\n%s\n\n", title.c_str());
  Table table({"way", "runs", "ms", "x trainit copy", "paired, least to most"});
  for (const CopyWay& way : ways) {
    table.add({way.name, text("%zu", way.ms.size()), text("%.0f", median(way.ms)),
               text("%.2f", median(way.ratios)),
               text("%.2f to %.2f", quantile(way.ratios, 0), quantile(way.ratios, 1))});
  }
  table.print();
  fflush(stdout);
}

}  // namespace bench
