#pragma once
// A converted rank table as values, which a test or a fuzzer can compare.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

struct ConvertedTable {
  std::vector<Node> nodes;
  std::string text;
  std::vector<Finding> warnings;
};

inline base::Result<ConvertedTable> convert(RankTable table, RankOrder order) {
  TRY_ASSIGN(auto ranked, std::move(table).rank(order));
  return ConvertedTable{
      .nodes = ranked.nodes(), .text = ranked.text().text(), .warnings = ranked.warnings()};
}

}  // namespace envgen
