#pragma once
// The cluster of a rank table. Shared by the platforms that read one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy_text.h"
#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/plan/request.h"
#include "envgen/platform/local_node.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

// A table that has been read, for the next answer about the same snapshot.
struct TableMemo {
  std::string_view text = {};  // its own; where it stands in the snapshot tells it from others
  RankOrder order = RankOrder::kPodIndex;
  LazyText rank_table = {};  // what every rank reads; "" while there is no table
  std::vector<Finding> findings = {};
  std::optional<std::vector<std::string>> warnings = {};
  std::optional<std::vector<Node>> nodes = {};  // nothing while an answer has them
  std::uint64_t device_addresses = 0;

  // The nodes of an answer that is not needed any more. Locating sets anew what planning changes.
  void take_back(std::vector<Node>&& lent);
};

// RANK_TABLE_FILE or --rank-table may name a file or a directory that holds the table. Nothing when
// the path is not in the snapshot yet.
std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& named);

// Reads, checks and converts the table at `path`, and recognises this node in it.
Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const LocalNodeHints& hints, PlatformFacts platform);

// The table's findings become the plan's warnings, the limits of the MindSpore document too; with
// --strict those are an error. `where` names the table.
Result<std::vector<std::string>> table_warnings(const std::vector<Finding>& findings,
                                                const std::vector<Node>& nodes,
                                                const Request& request, const std::string& where);

}  // namespace envgen
