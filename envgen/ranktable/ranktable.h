#pragma once
// HCCL rank tables: recognise them, wait for them, check them by HCCL's own rules, convert them to
// template 1.
//
// Formats, as HCCL distinguishes them:
//   no "version", "group_list"            template 2 (ModelArts' jobstart_hccl.json)
//   the same with "deploy_mode"           lab (the oldest; rank_id on the instance)
//   "version" "1.0" / "1.2"               template 1 / template 1 with super pods (A3)
//   "version" "1.1"                       heterogeneous: recognised, not supported here
//   "version" "2.0"                       rank_list (A5); scalars are integers, not strings
//   "server_group_list"                   MindIE's global table: recognised, not supported here
// In 1.x, template 2 and lab every scalar is a JSON string; HCCL refuses integers. Source: HCCL's
// topoinfo_ranktable parsers and its cluster_info_config documents.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/lazy_text.h"
#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/formats/finding.h"

namespace envgen {

enum class TableFormat : unsigned char {
  kTemplate1,
  kTemplate1SuperPod,
  kHeterogeneous,
  kRankList,
  kTemplate2,
  kLab,
  kServerGroups,
  kUnknown,
};
std::string_view format_name(TableFormat format);  // "template 1 (version 1.0)", ...

// The order of the ranks in a template 2, which does not state them. Other formats state their
// ranks.
enum class RankOrder : unsigned char {
  kPodIndex,  // by the number after the last '-' of pod_name, as ModelArts' launcher does
  kServerId,  // by server_id as text, then by device_id, as HCCL does
};

class RankedTable;

class RankTable {
 public:
  // Parses a table. `where` names the source in errors. Refuses text that is not a JSON object.
  // `text` must outlive the table, which keeps no copy of it.
  static std::expected<RankTable, base::json::ParseError> parse(std::string_view text,
                                                                std::string_view where);
  RankTable(RankTable&&) noexcept;
  RankTable& operator=(RankTable&&) noexcept;
  ~RankTable();

  [[nodiscard]] TableFormat format() const;
  // Returns "" if the platform says that the table is complete, otherwise the reason: `status is
  // "initializing"`. A complete table may still have faults, which check() reports.
  [[nodiscard]] std::string not_ready_reason() const;
  // Checks the table by HCCL's rules. Also warns if the rank orders by pod and by server disagree.
  // Returns the first ten findings of each rule in full, and one more with their number.
  [[nodiscard]] std::vector<Finding> check() const;
  // Checks the table and gives its devices their ranks. Refuses a table that cannot be repaired.
  [[nodiscard]] base::Result<RankedTable> rank(RankOrder order) &&;

  struct Impl;

 private:
  explicit RankTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A table that was checked, with the rank of each device. Only RankTable::rank() makes one.
class RankedTable {
 public:
  explicit RankedTable(std::shared_ptr<const RankTable::Impl> impl) : impl_(std::move(impl)) {}

  // Repairs, and warnings for the user.
  [[nodiscard]] const std::vector<Finding>& warnings() const;
  // Returns the nodes in the order of node ranks: one per pod, or per server if there are no pods.
  [[nodiscard]] std::vector<Node> nodes() const;
  // Returns a digest of the devices' addresses in rank order; 0 = no addresses.
  [[nodiscard]] std::uint64_t device_addresses() const;
  // Returns the table as template 1 in JSON (for version 2.0: the input unchanged). The lazy text
  // shares this table, and no longer needs the input text.
  // The same input always gives the same bytes, and the result converted again is unchanged. A
  // template 1 keeps the order of its keys. Keys that HCCL does not know are kept at the top level,
  // on servers (from instances) and on devices. If two instances are on one server, the keys of the
  // first one are kept. A conversion drops group_list with its counts and names, and pod_name. Of a
  // lab table it also drops board_id, chip_info, deploy_mode and para_plane_nic_*, for which
  // template 1 has no place.
  [[nodiscard]] base::LazyText text() const;

 private:
  std::shared_ptr<const RankTable::Impl> impl_;
};

// Checks the limits of the MindSpore Ascend document. One machine has 1, 2, 4 or 8 devices, several
// machines have 8 n. Two or four devices must be inside one of the groups 0-3 and 4-7.
std::vector<Finding> check_device_groups(const std::vector<Node>& nodes);

}  // namespace envgen
