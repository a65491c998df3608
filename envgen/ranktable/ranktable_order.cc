// The orders in which the devices of a template 2 get their ranks.

#include <algorithm>
#include <numeric>

#include "base/stable_sort.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {

std::optional<std::uint32_t> pod_index(std::string_view pod_name) {
  std::size_t dash = pod_name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view digits = pod_name.substr(dash + 1);
  if (digits.empty()) return std::nullopt;
  // Removes leading zeros, because the launcher's int() accepts them.
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return decimal(digits);
}

std::expected<std::vector<std::uint32_t>, Details> pod_index_order(const Table& table) {
  struct Pod {
    std::uint32_t group;
    std::uint32_t index;
    std::uint32_t owner;
    auto operator<=>(const Pod&) const = default;
  };
  std::vector<Pod> pods;
  pods.reserve(table.owners.size());
  std::vector<std::size_t> in_group(table.owners.empty() ? 0 : table.owners.back().group + 1);
  for (const Owner& owner : table.owners) ++in_group[owner.group];
  for (std::uint32_t i = 0; i < table.owners.size(); ++i) {
    const Owner& owner = table.owners[i];
    auto index = pod_index(owner.pod_name);
    if (!index && in_group[owner.group] > 1) {
      return std::unexpected(
          Details{.place = table.place(owner).at("pod_name"),
                  .found = "pod " + show(owner.pod_name) + ", which does not end in -<index>",
                  .fix = "its place among the pods is unknown: use --rank-order server-id"});
    }
    pods.push_back({.group = owner.group, .index = index.value_or(0), .owner = i});
  }
  base::stable_sort(pods, std::less());
  for (std::size_t i = 1; i < pods.size(); ++i) {
    if (pods[i].group != pods[i - 1].group || pods[i].index != pods[i - 1].index) continue;
    const Owner& owner = table.owners[pods[i].owner];
    return std::unexpected(Details{.place = table.place(owner).at("pod_name"),
                                   .found = "pod " + show(owner.pod_name) +
                                            " with the index of pod " +
                                            show(table.owners[pods[i - 1].owner].pod_name),
                                   .fix = "their order is unknown: use --rank-order server-id"});
  }
  std::vector<std::uint32_t> first_row(table.owners.size() + 1);
  for (const Row& row : table.rows) ++first_row[row.owner + 1];
  std::partial_sum(first_row.begin(), first_row.end(), first_row.begin());
  std::vector<std::uint32_t> rows;
  rows.reserve(table.rows.size());
  for (const Pod& pod : pods) {
    for (std::uint32_t row = first_row[pod.owner]; row < first_row[pod.owner + 1]; ++row) {
      rows.push_back(row);
    }
  }
  return rows;
}

// Compares the first eight bytes as a number, which nearly always decides.
std::vector<std::uint32_t> by_text(std::span<const std::string_view> texts) {
  struct Start {
    std::uint64_t bytes;
    std::uint32_t index;
  };
  std::vector<Start> starts;
  starts.reserve(texts.size());
  for (std::string_view text : texts) {
    Start start{.bytes = 0, .index = static_cast<std::uint32_t>(starts.size())};
    for (std::size_t i = 0; i < sizeof start.bytes; ++i) {
      start.bytes = start.bytes << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
    }
    starts.push_back(start);
  }
  std::ranges::sort(starts, [&](const Start& a, const Start& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : texts[a.index] < texts[b.index];
  });
  std::vector<std::uint32_t> order;
  order.reserve(starts.size());
  for (const Start& start : starts) order.push_back(start.index);
  return order;
}

std::vector<std::uint32_t> server_id_order(const Table& table) {
  // Sorts the servers first, so that their addresses are compared once for each server, not for
  // each device.
  std::vector<std::string_view> names(table.servers);
  for (const Owner& owner : table.owners) names[owner.server] = owner.server_id;
  std::vector<std::uint32_t> servers = by_text(names);
  std::vector<std::uint32_t> place(table.servers);
  for (std::uint32_t i = 0; i < servers.size(); ++i) place[servers[i]] = i;
  // Then each row moves into the part of its server, and the few rows of each server are sorted by
  // device.
  auto place_of = [&](const Row& row) { return place[table.owners[row.owner].server]; };
  std::vector<std::uint32_t> ends(table.servers + 1);
  for (const Row& row : table.rows) ++ends[place_of(row) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint32_t> rows(table.rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[ends[place_of(table.rows[i])]++] = i;
  std::uint32_t first = 0;
  for (std::uint32_t server = 0; server < table.servers; ++server) {
    std::ranges::sort(rows.begin() + first, rows.begin() + ends[server], {},
                      [&](std::uint32_t row) { return table.rows[row].device_id; });
    first = ends[server];
  }
  return rows;
}

std::expected<std::vector<std::uint32_t>, Details> rows_in(RankOrder order, const Table& table) {
  if (order == RankOrder::kServerId) return server_id_order(table);
  return pod_index_order(table);
}

}  // namespace envgen::ranktable
