// Rank tables of version 2.0: one flat rank_list, and integers in places where 1.x has strings.

#include <algorithm>
#include <unordered_map>

#include "base/stable_sort.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

constexpr std::uint32_t kMaxDeviceId = 512;
constexpr std::uint32_t kMaxLocalId = 64;  // 64 is the backup device of a super pod
constexpr std::uint32_t kMaxNetLayer = 7;
constexpr std::size_t kMaxLevels = 8;
constexpr std::size_t kMaxAddresses = 24;
constexpr std::size_t kMaxInstanceIdBytes = 1024;

constexpr Range kAnyInteger = {.low = 0, .high = kNone - 1, .rule = "integer-range"};
constexpr Range kPort = {.low = 1, .high = 65535, .rule = "port-range"};

std::optional<std::uint32_t> read_integer(const Field& field, Need need, const Range& range,
                                          Report& report) {
  if (!field.value) {
    if (need == Need::kOptional) return std::nullopt;
    report.add(Severity::kRefused, "key-missing", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = "no \"" + std::string(field.name) + "\"",
                     .fix = "add it"};
    });
    return std::nullopt;
  }
  std::string limits = std::to_string(range.low) + " to " + std::to_string(range.high);
  if (!field.value->is(Type::kInteger)) {
    report.add(Severity::kRefused,
               field.value->is(Type::kString) ? "string-for-integer" : "not-an-integer", [&] {
                 return Details{.place = field.place.at(field.name),
                                .found = show(*field.value) +
                                         ", and HCCL takes only an integer in version 2.0",
                                .fix = "write a number from " + limits + " without quotes"};
               });
    return std::nullopt;
  }
  auto value = field.value->integer();
  if (value && *value >= range.low && *value <= range.high) {
    return static_cast<std::uint32_t>(*value);
  }
  report.add(Severity::kRefused, range.rule, [&] {
    return Details{.place = field.place.at(field.name),
                   .found = show(*field.value) + ", which is out of range",
                   .fix = "write a number from " + limits};
  });
  return std::nullopt;
}

// Reads a string. Does not repair a wrong one, because a conversion of version 2.0 does not change
// the text.
std::optional<std::string_view> read_word(const Field& field, Need need, Report& report) {
  if (field.value && !field.value->is(Type::kString)) {
    report.add(Severity::kRefused, "not-a-string", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = show(*field.value) + ", and HCCL takes only a string",
                     .fix = "write it as a string"};
    });
    return std::nullopt;
  }
  return read_string(field, need, report);
}

template <std::size_t N>
void check_word(const Field& field, Need need, const std::array<std::string_view, N>& words,
                Report& report) {
  std::optional<std::string_view> word = read_word(field, need, report);
  if (!word || std::ranges::find(words, *word) != words.end()) return;
  report.add(Severity::kRefused, "unknown-word", [&] {
    std::string list;
    for (std::string_view known : words) list += (list.empty() ? "" : ", ") + std::string(known);
    return Details{
        .place = field.place.at(field.name), .found = show(*word), .fix = "HCCL knows " + list};
  });
}

void check_address(const Value& entry, const FieldPath& place, Report& report) {
  static constexpr std::array<std::string_view, 4> kNames = {"addr_type", "addr", "ports",
                                                             "plane_id"};
  static constexpr std::array<std::string_view, 3> kTypes = {"EID", "IPV4", "IPV6"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(entry, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  check_word(field(0), Need::kRequired, kTypes, report);
  auto address = read_word(field(1), Need::kRequired, report);
  std::string_view type = plain_string(values[0]);
  IpFamily family = address ? ip_family(*address) : IpFamily::kNone;
  if (address && ((type == "IPV4" && family != IpFamily::kIpv4) ||
                  (type == "IPV6" && family != IpFamily::kIpv6))) {
    report.add(Severity::kRefused, "addr-invalid", [&] {
      return Details{.place = place.at("addr"),
                     .found = show(*address) + ", which is no address of type " + show(type),
                     .fix = "correct addr or addr_type"};
    });
  }
  read_word(field(3), Need::kOptional, report);
  auto ports = read_list(field(2), "ports-missing", "list the ports as strings", report);
  if (!ports) return;
  for (Value port : *ports) {
    if (port.is(Type::kString)) continue;
    report.add(Severity::kRefused, "not-a-string", [&] {
      return Details{.place = place.at("ports"),
                     .found = show(port) + " among the ports",
                     .fix = "write ports as strings: \"1/0\""};
    });
  }
}

// A check that all ranks of a network instance have the same number of addresses, which HCCL
// requires.
class AddressCounts {
 public:
  void add(std::uint32_t layer, std::string_view instance, std::size_t count,
           const FieldPath& place, Report& report) {
    auto [entry, is_new] = counts_.at(layer).try_emplace(instance, count);
    if (is_new || entry->second == count) return;
    report.add(Severity::kRefused, "rank-addr-count", [&] {
      return Details{.place = place.at("rank_addr_list"),
                     .found = std::to_string(count) + " addresses in " + show(instance) +
                              ", where another rank has " + std::to_string(entry->second),
                     .fix = "HCCL wants the same number for each rank of a net_instance_id"};
    });
  }

 private:
  std::array<std::unordered_map<std::string_view, std::size_t>, kMaxNetLayer + 1> counts_;
};

struct Level {
  std::optional<std::uint32_t> layer;
  std::string_view instance;
};

Level read_level(const Value& level, const FieldPath& place, AddressCounts& counts,
                 Report& report) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "net_layer", "net_instance_id", "net_type", "net_attr", "rank_addr_list"};
  static constexpr std::array<std::string_view, 6> kTypes = {
      "1DMESH", "2DMESH", "A3_SERVER", "A2_AX_SERVER", "TOPO_FILE_DESC", "CLOS"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(level, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  constexpr Range kLayers = {.low = 0, .high = kMaxNetLayer, .rule = "net-layer-range"};
  Level read;
  read.layer = read_integer(field(0), Need::kRequired, kLayers, report);
  auto instance = read_word(field(1), Need::kRequired, report);
  read.instance = instance.value_or("");
  if (instance && (instance->empty() || instance->size() > kMaxInstanceIdBytes)) {
    report.add(Severity::kRefused, "net-instance-id", [&] {
      return Details{.place = place.at("net_instance_id"),
                     .found = show(read.instance),
                     .fix = "HCCL wants 1 to 1024 bytes"};
    });
  }
  check_word(field(2), Need::kOptional, kTypes, report);
  read_word(field(3), Need::kOptional, report);
  auto addresses = values[4];
  if (!addresses || !addresses->is(Type::kArray) || addresses->size() > kMaxAddresses) {
    report.add(Severity::kRefused, "rank-addr-list", [&] {
      return Details{.place = place.at("rank_addr_list"),
                     .found = addresses ? show(*addresses) + " of " +
                                              std::to_string(addresses->size()) + " elements"
                                        : "no \"rank_addr_list\"",
                     .fix = "list up to 24 addresses"};
    });
    return read;
  }
  std::size_t position = 0;
  for (Value entry : *addresses) {
    check_address(entry, place.in("rank_addr_list", position++), report);
  }
  if (read.layer) counts.add(*read.layer, read.instance, addresses->size(), place, report);
  return read;
}

void read_levels(const Field& field, AddressCounts& counts, RankListRow& row, Report& report) {
  auto levels = read_list(field, "level-list-missing", "list the networks of this rank", report);
  if (!levels) return;
  if (levels->size() > kMaxLevels) {
    report.add(Severity::kRefused, "level-count", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = std::to_string(levels->size()) + " levels",
                     .fix = "HCCL takes at most 8"};
    });
  }
  std::optional<std::uint32_t> before;
  std::size_t position = 0;
  for (Value entry : *levels) {
    FieldPath place = field.place.in(field.name, position++);
    Level level = read_level(entry, place, counts, report);
    if (!level.layer) continue;
    if (*level.layer == 0) row.instance = level.instance;
    if (before && *level.layer <= *before) {
      report.add(Severity::kRefused, "net-layer-order", [&] {
        return Details{.place = place.at("net_layer"),
                       .found = std::to_string(*level.layer) + " after " + std::to_string(*before),
                       .fix = "list the levels by rising net_layer, each once"};
      });
    }
    before = level.layer;
  }
}

RankListRow read_rank(const Value& rank, const FieldPath& place, AddressCounts& counts,
                      Report& report) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "rank_id", "local_id", "device_id", "level_list", "device_port", "host_port"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(rank, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  constexpr Range kLocal = {.low = 0, .high = kMaxLocalId, .rule = "local-id-range"};
  constexpr Range kDevice = {.low = 0, .high = kMaxDeviceId, .rule = "device-id-range"};
  RankListRow row;
  row.rank = read_integer(field(0), Need::kRequired, kAnyInteger, report).value_or(kNone);
  row.local_id = read_integer(field(1), Need::kRequired, kLocal, report).value_or(kNone);
  row.device_id = read_integer(field(2), Need::kRequired, kDevice, report).value_or(kNone);
  read_integer(field(4), Need::kOptional, kPort, report);
  read_integer(field(5), Need::kOptional, kPort, report);
  read_levels(field(3), counts, row, report);
  return row;
}

void check_rank_ids(const std::vector<RankListRow>& rows, Report& report) {
  std::vector<std::uint32_t> seen(rows.size(), kNone);
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    std::uint32_t rank = rows[i].rank;
    if (rank == kNone) continue;
    bool outside = rank >= rows.size();
    if (!outside && seen[rank] == kNone) {
      seen[rank] = i;
      continue;
    }
    report.add(Severity::kRefused, outside ? "rank-id-gap" : "rank-id-duplicate", [&] {
      std::string found = "rank " + std::to_string(rank);
      found += outside ? " of " + std::to_string(rows.size()) + " ranks"
                       : ", as rank_list[" + std::to_string(seen[rank]) + "]";
      return Details{.place = FieldPath().in("rank_list", i).at("rank_id"),
                     .found = std::move(found),
                     .fix = "number the ranks from 0 without a gap, each once"};
    });
  }
}

Node make_node(const RankListRow& row) {
  return {.pod_name = "",
          .server_id = std::string(row.instance),
          .host_ip = "",
          .container_ip = "",
          .devices = {}};
}

// Splits a network instance of layer 0 into hosts: it is one host, or a rack of several. A host has
// each device once, so a repeated device shows several hosts. A new host begins at a rank whose ids
// do not rise. This guess is accepted only if all hosts have the same size. Returns the number of
// hosts.
std::expected<std::size_t, Details> split_instance(const std::vector<RankListRow>& rows,
                                                   const std::vector<std::uint32_t>& members,
                                                   std::vector<std::uint32_t>& host_of,
                                                   std::uint32_t first_host) {
  auto repeats = [&](std::uint32_t RankListRow::* id) {
    std::vector<std::uint32_t> ids;
    ids.reserve(members.size());
    for (std::uint32_t member : members) ids.push_back(rows[member].*id);
    std::ranges::sort(ids);
    return std::ranges::adjacent_find(ids) != ids.end();
  };
  if (!repeats(&RankListRow::local_id) && !repeats(&RankListRow::device_id)) {
    for (std::uint32_t member : members) host_of[member] = first_host;
    return 1;
  }
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const RankListRow& row = rows[members[i]];
    const RankListRow* before = i == 0 ? nullptr : &rows[members[i - 1]];
    if (before == nullptr || row.local_id <= before->local_id ||
        row.device_id <= before->device_id || row.rank != before->rank + 1) {
      sizes.push_back(0);
    }
    ++sizes.back();
    host_of[members[i]] = first_host + static_cast<std::uint32_t>(sizes.size()) - 1;
  }
  if (std::ranges::adjacent_find(sizes, std::ranges::not_equal_to()) == sizes.end()) {
    return sizes.size();
  }
  return std::unexpected(
      Details{.place = "rank_list",
              .found = "device ids that return inside net_instance_id " +
                       show(rows[members.front()].instance) + ", in runs of different lengths",
              .fix = "the table does not tell which ranks share a host: number the ranks host by "
                     "host, by rising local_id"});
}

}  // namespace

std::vector<RankListRow> read_rank_list(const Value& root, Report& report) {
  static constexpr std::array<std::string_view, 4> kNames = {"rank_list", "rank_count", "status",
                                                             "version"};
  std::array<std::optional<Value>, kNames.size()> values;
  FieldPath top;
  gather(root, top, kNames, values, report);
  std::vector<RankListRow> rows;
  auto ranks = read_list({.value = values[0], .place = top, .name = kNames[0]}, "rank-list-missing",
                         "list the ranks under \"rank_list\"", report);
  Field count_field = {.value = values[1], .place = top, .name = kNames[1]};
  auto count = read_integer(count_field, Need::kRequired, kAnyInteger, report);
  if (!ranks) return rows;
  if (count && *count != ranks->size()) {
    report.add(Severity::kRefused, "count-mismatch", [&] {
      return Details{.place = "rank_count",
                     .found = show(*values[1]) + " for " + std::to_string(ranks->size()) + " ranks",
                     .fix = "complete the list, or correct the count"};
    });
  }
  AddressCounts counts;
  rows.reserve(ranks->size());
  for (Value rank : *ranks) {
    rows.push_back(read_rank(rank, top.in("rank_list", rows.size()), counts, report));
  }
  check_rank_ids(rows, report);
  return rows;
}

std::expected<std::vector<Node>, Details> rank_list_nodes(std::vector<RankListRow> rows,
                                                          Report& report) {
  base::stable_sort(rows, std::less(), &RankListRow::rank);
  std::unordered_map<std::string_view, std::size_t> instances;
  std::vector<std::vector<std::uint32_t>> members;
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    auto [entry, is_new] = instances.try_emplace(rows[rank].instance, members.size());
    if (is_new) members.emplace_back();
    members[entry->second].push_back(rank);
  }
  std::vector<std::uint32_t> host_of(rows.size());
  std::uint32_t hosts = 0;
  for (const auto& instance : members) {
    TRY_ASSIGN(auto count, split_instance(rows, instance, host_of, hosts));
    hosts += static_cast<std::uint32_t>(count);
    if (count == 1) continue;
    report.add(Severity::kWarning, "hosts-inferred", [&] {
      return Details{.place = "rank_list",
                     .found = "net_instance_id " + show(rows[instance.front()].instance) +
                              " over several hosts, which the table does not name",
                     .fix = "taken as " + std::to_string(count) + " hosts of " +
                            std::to_string(instance.size() / count) + " ranks, in rank order"};
    });
  }
  std::vector<Node> nodes;
  std::vector<std::uint32_t> position(hosts, kNone);
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    std::uint32_t& at = position[host_of[rank]];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(make_node(rows[rank]));
    }
    nodes[at].devices.push_back(
        {.physical_id = static_cast<int>(rows[rank].device_id), .rank = static_cast<int>(rank)});
  }
  return nodes;
}

}  // namespace envgen::ranktable
