#pragma once
// The cluster of a rank table. Shared by the platforms that read one.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"
#include "envgen/plan/request.h"
#include "envgen/platform/local_node.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

// RANK_TABLE_FILE or --rank-table may name a file or a directory that holds the table. Nothing when
// the path is not in the snapshot yet.
std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& named);

// Reads, checks and converts the table at `path`, and recognises this node in it.
Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const LocalNodeHints& hints, PlatformFacts platform);

// The table's findings become the plan's warnings, the limits of the MindSpore document too; with
// --strict those are an error. `where` names the table.
Result<std::vector<std::string>> table_warnings(const ConvertedTable& table, const Request& request,
                                                const std::string& where);

}  // namespace envgen
