#pragma once
// Locates this node by a rank table, for all platforms that have one.

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

// The values read from a rank table, kept for the next answer about the same snapshot: a large
// table is then read only once.
struct TableMemo {
  std::string_view text = {};  // the text of the table; its address in the snapshot identifies the
                               // table
  RankOrder order = RankOrder::kPodIndex;
  base::LazyText rank_table = {};  // the table that every rank reads; "" while there is no table
  std::vector<Finding> findings = {};
  std::optional<std::vector<std::string>> warnings = {};
  std::optional<std::vector<Node>> nodes = {};  // unset while an answer owns the nodes
  std::uint64_t device_addresses = 0;

  // Returns whether this is the table of `content` in the order `wanted`, with its nodes.
  [[nodiscard]] bool holds(std::string_view content, RankOrder wanted) const;
  // Takes the nodes back from an answer that is not needed any more. The next search for the local
  // node sets all members that planning has changed.
  void take_back(std::vector<Node>&& lent);
};

// Returns whether the name of a rank table alone shows that it is a file. Any other name may be
// that of a directory that contains the table.
bool is_table_file(std::string_view named);

// Returns the path of the table that --rank-table, else rank_table_variable(), else `fallback`
// names. Each may name a file, or a directory that contains the table. Returns "" if all are empty,
// and nullopt while the snapshot lacks a path.
std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& fallback = "");

// Reads, checks and converts the table at `path`, and finds this node in it.
Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const LocalNodeHints& hints, PlatformFacts platform);

// Returns the table's findings as warnings of the plan. A violation of the limits in the MindSpore
// document is a warning too, or an error with --strict. `where` names the table.
base::Result<std::vector<std::string>> table_warnings(const std::vector<Finding>& findings,
                                                      const std::vector<Node>& nodes,
                                                      const Request& request,
                                                      const std::string& where);

}  // namespace envgen
