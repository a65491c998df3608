// HCCL's rules for several fields of a rank table together. All checks sort or hash, so none is
// quadratic in the number of devices.

#include <algorithm>
#include <compare>
#include <numeric>
#include <unordered_map>

#include "base/stable_sort.h"
#include "envgen/ranktable/ranktable_duplicates.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

// Numbers the servers. Template 1 lists a server once; a repeated name is refused there, and
// numbered as another server.
void number_servers(Table& table) {
  if (table.is_template1()) {
    table.servers = 0;
    for (Owner& owner : table.owners) owner.server = table.servers++;
    return;
  }
  std::vector<Named> names;
  names.reserve(table.owners.size());
  for (Owner& owner : table.owners) {
    owner.server = kNone;
    names.push_back({.text = owner.server_id, .index = static_cast<std::uint32_t>(names.size())});
  }
  find_duplicates(names, [&](const Named& name, const Named& first) {
    table.owners[name.index].server = first.index;
  });
  table.servers = 0;
  for (Owner& owner : table.owners) {
    owner.server = owner.server == kNone ? table.servers++ : table.owners[owner.server].server;
  }
}

void check_names(const Table& table, Report& report) {
  std::vector<Named> servers;
  std::vector<Named> pods;
  for (std::uint32_t i = 0; i < table.owners.size(); ++i) {
    const Owner& owner = table.owners[i];
    if (table.is_template1() && !owner.server_id.empty()) {
      servers.push_back({.text = owner.server_id, .index = i});
    }
    if (table.format == TableFormat::kTemplate2) {
      pods.push_back({.text = owner.pod_name, .index = i});
    }
  }
  auto check = [&](std::vector<Named>&& names, std::string_view rule, std::string_view field) {
    each_duplicate(std::move(names), [&](std::uint32_t index, std::uint32_t first) {
      report.add(Severity::kRefused, rule, [&] {
        const Owner& owner = table.owners[index];
        return Details{.place = table.place(owner).at(field),
                       .found = show(field == "pod_name" ? owner.pod_name : owner.server_id) +
                                ", as " + table.place(table.owners[first]).at(field),
                       .fix = field == "pod_name" ? "list each pod once"
                                                  : "list each server once, with all its devices"};
      });
    });
  };
  check(std::move(servers), "server-id-duplicate", "server_id");
  check(std::move(pods), "pod-name-duplicate", "pod_name");
}

void check_devices(const Table& table, Report& report) {
  std::vector<std::uint64_t> seen(table.servers);
  std::vector<std::uint32_t> counts(table.servers);
  for (const Row& row : table.rows) {
    const Owner& owner = table.owners[row.owner];
    ++counts[owner.server];
    if (row.device_id == Row::kNoDevice) continue;
    std::uint64_t bit = 1ULL << row.device_id;
    if ((seen[owner.server] & bit) != 0) {
      report.add(Severity::kRefused, "device-duplicate", [&] {
        return Details{.place = table.place(row).at("device_id"),
                       .found = "device " + std::to_string(row.device_id) + " of server " +
                                show(owner.server_id) + " a second time",
                       .fix = "one rank drives a device: list it once"};
      });
    }
    seen[owner.server] |= bit;
  }
  if (counts.empty() || table.has_gaps) return;
  auto [low, high] = std::ranges::minmax(counts);
  if (low == high) return;
  report.add(Severity::kWarning, "device-count-uneven", [&] {
    return Details{.place = table.is_template1() ? "server_list" : "group_list",
                   .found = "servers with " + std::to_string(low) + " and with " +
                            std::to_string(high) + " devices",
                   .fix = "HCCL on a 910 wants the same number on each server"};
  });
}

// Checks that the ranks are 0 .. N - 1. Returns the rows in rank order, or an empty list if they
// are not.
std::vector<std::uint32_t> check_ranks(const Table& table, Report& report) {
  auto count = static_cast<std::uint32_t>(table.rows.size());
  std::string_view field = "rank_id";
  std::vector<std::uint32_t> by_rank(count, kNone);
  auto place = [&](const Row& row) {
    return table.format == TableFormat::kLab ? table.place(table.owners[row.owner]).at(field)
                                             : table.place(row).at(field);
  };
  bool whole = true;
  std::vector<std::uint32_t> outside;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Row& row = table.rows[i];
    if (row.rank == kNone) return {};  // this was reported when the table was read
    if (row.rank >= count) {
      outside.push_back(i);
    } else if (by_rank[row.rank] != kNone) {
      whole = false;
      report.add(Severity::kRefused, "rank-id-duplicate", [&] {
        return Details{.place = place(row),
                       .found = "rank " + std::to_string(row.rank) + ", as " +
                                place(table.rows[by_rank[row.rank]]),
                       .fix = "number the " + std::to_string(count) + " ranks from 0, each once"};
      });
    } else {
      by_rank[row.rank] = i;
    }
  }
  for (std::uint32_t i : outside) {
    report.add(Severity::kRefused, "rank-id-gap", [&] {
      auto gap = std::ranges::find(by_rank, kNone) - by_rank.begin();
      return Details{.place = place(table.rows[i]),
                     .found = "rank " + std::to_string(table.rows[i].rank) + " of " +
                              std::to_string(count) + " ranks, and none is rank " +
                              std::to_string(gap),
                     .fix = "number the ranks from 0 without a gap, or add what is missing"};
    });
  }
  if (!whole || !outside.empty()) by_rank.clear();
  return by_rank;
}

// Returns the servers in the order of their lowest ranks, each once. Reports a server whose ranks
// are interrupted by those of another one.
std::vector<std::uint32_t> check_interleaving(const Table& table,
                                              const std::vector<std::uint32_t>& by_rank,
                                              Report& report) {
  std::vector<std::uint32_t> order;  // one owner for each server
  std::vector<bool> seen(table.servers);
  std::uint32_t current = kNone;
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank) {
    const Row& row = table.rows[by_rank[rank]];
    std::uint32_t server = table.owners[row.owner].server;
    if (server == current) continue;
    current = server;
    if (!seen[server]) {
      seen[server] = true;
      order.push_back(row.owner);
      continue;
    }
    report.add(Severity::kWarning, "ranks-interleaved", [&] {
      return Details{.place = table.place(row).at(""),
                     .found = "rank " + std::to_string(rank) + " back on server " +
                              show(table.owners[row.owner].server_id),
                     .fix = "give each server consecutive ranks: HCCL's document forbids to mix"};
    });
  }
  return order;
}

void check_server_order(const Table& table, const std::vector<std::uint32_t>& order,
                        Report& report) {
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Owner& before = table.owners[order[i - 1]];
    const Owner& after = table.owners[order[i]];
    if (before.server_id <= after.server_id) continue;
    report.add(Severity::kWarning, "rank-order", [&] {
      return Details{.place = table.place(after).at("server_id"),
                     .found = "the ranks of server " + show(before.server_id) +
                              " before those of " + show(after.server_id),
                     .fix =
                         "MindSpore's document wants ranks in the lexicographic order of "
                         "server_id"};
    });
    return;
  }
}

void check_pod_order(const Table& table, Report& report) {
  for (const Owner& owner : table.owners) {
    if (pod_index(owner.pod_name)) continue;
    report.add(Severity::kWarning, "pod-name-index", [&] {
      return Details{.place = table.place(owner).at("pod_name"),
                     .found = show(owner.pod_name) + ", which does not end in -<index>",
                     .fix =
                         "ModelArts' launcher orders pods by it: with several pods choose "
                         "--rank-order server-id"};
    });
  }
  auto by_index = pod_index_order(table);
  if (!by_index) return;
  std::vector<std::uint32_t> by_server = server_id_order(table);
  auto [pod, server] = std::ranges::mismatch(*by_index, by_server);
  if (pod == by_index->end()) return;
  report.add(Severity::kWarning, "rank-order-differs", [&] {
    auto name = [&](std::uint32_t row) {
      const Owner& owner = table.owners[table.rows[row].owner];
      return "device " + std::to_string(table.rows[row].device_id) + " of pod " +
             show(owner.pod_name) + " on server " + show(owner.server_id);
    };
    return Details{.place = "group_list",
                   .found = "rank " + std::to_string(pod - by_index->begin()) +
                            " by pod index (ModelArts' launcher) is " + name(*pod) +
                            ", by server_id (HCCL) " + name(*server),
                   .fix = "choose with --rank-order, the same on every node"};
  });
}

using ServerNumbers = std::unordered_map<std::string_view, std::uint32_t>;

void check_super_pod_id(const Field& field, std::uint32_t pod, std::vector<Named>& ids,
                        Report& report) {
  auto id = read_string(field, Need::kRequired, report);
  if (!id) return;
  ids.push_back({.text = *id, .index = pod});
  if (!id->empty() && id->size() <= 64) return;
  report.add(Severity::kRefused, "super-pod-id", [&] {
    return Details{
        .place = field.place.at(field.name), .found = show(*id), .fix = "HCCL wants 1 to 64 bytes"};
  });
}

void read_super_pod_servers(const Field& field, std::uint32_t pod, const ServerNumbers& servers,
                            std::vector<std::uint32_t>& pod_of, Report& report) {
  auto items = read_list(field, "super-pod-servers", "list the servers of this super pod", report);
  if (!items) return;
  std::size_t position = 0;
  for (Value item : *items) {
    FieldPath place = field.place.in(field.name, position++);
    std::optional<Value> id = item.find("server_id");
    auto server_id =
        read_string({.value = id, .place = place, .name = "server_id"}, Need::kRequired, report);
    if (!server_id) continue;
    auto server = servers.find(*server_id);
    bool known = server != servers.end();
    if (known && pod_of[server->second] == kNone) {
      pod_of[server->second] = pod;
      continue;
    }
    report.add(
        Severity::kRefused, known ? "super-pod-server-twice" : "super-pod-server-unknown", [&] {
          return Details{
              .place = place.at("server_id"),
              .found = show(*server_id) + (known ? ", listed before" : ", not in server_list"),
              .fix = "list each server of server_list in one super pod"};
        });
  }
}

// Returns the super pod of each server.
std::vector<std::uint32_t> read_super_pods(const Value& list, const Table& table, Report& report) {
  ServerNumbers servers;
  for (const Owner& owner : table.owners) servers.try_emplace(owner.server_id, owner.server);
  std::vector<std::uint32_t> pod_of(table.servers, kNone);
  std::vector<Named> ids;
  std::uint32_t pod = 0;
  for (Value entry : list) {
    FieldPath place = FieldPath().in("super_pod_list", pod);
    std::optional<Value> id = entry.find("super_pod_id");
    check_super_pod_id({.value = id, .place = place, .name = "super_pod_id"}, pod, ids, report);
    std::optional<Value> members = entry.find("server_list");
    read_super_pod_servers({.value = members, .place = place, .name = "server_list"}, pod, servers,
                           pod_of, report);
    ++pod;
  }
  each_duplicate(std::move(ids), [&](std::uint32_t index, std::uint32_t first) {
    report.add(Severity::kRefused, "super-pod-id", [&] {
      return Details{.place = FieldPath().in("super_pod_list", index).at("super_pod_id"),
                     .found = "the name of super_pod_list[" + std::to_string(first) + "]",
                     .fix = "name each super pod differently"};
    });
  });
  return pod_of;
}

void check_super_device_ids(const Table& table, const std::vector<std::uint32_t>& pod_of,
                            Report& report) {
  struct Id {
    std::uint64_t key;  // super pod and super_device_id together
    std::uint32_t row;
    auto operator<=>(const Id&) const = default;
  };
  std::vector<Id> ids;
  ids.reserve(table.rows.size());
  for (std::uint32_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    if (row.super_device_id == kNone) {
      report.add(Severity::kRefused, "super-device-id", [&] {
        return Details{.place = table.place(row).at("super_device_id"),
                       .found = "no super_device_id",
                       .fix =
                           "with a super_pod_list each device needs one (npu-smi info -t "
                           "spod-info prints it as SDID)"};
      });
      continue;
    }
    std::uint64_t pod = pod_of[table.owners[row.owner].server];
    ids.push_back({.key = pod << 32 | row.super_device_id, .row = i});
  }
  base::stable_sort(ids, std::less());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].key != ids[i - 1].key) continue;
    report.add(Severity::kRefused, "super-device-id", [&] {
      return Details{.place = table.place(table.rows[ids[i].row]).at("super_device_id"),
                     .found = std::to_string(table.rows[ids[i].row].super_device_id) + ", as " +
                              table.place(table.rows[ids[i - 1].row]).at("super_device_id"),
                     .fix = "it must be unique inside a super pod"};
    });
  }
}

// Returns the super pod of each server, or an empty list without a super_pod_list.
std::vector<std::uint32_t> check_super_pods(const std::optional<Value>& list, Table& table,
                                            Report& report) {
  if (!list) {
    report.add(Severity::kWarning, "super-pod-list-missing", [] {
      return Details{.place = "super_pod_list",
                     .found = "version \"1.2\" without a super_pod_list",
                     .fix = "HCCL then uses no super pods: add it, or write version \"1.0\""};
    });
    return {};
  }
  FieldPath top;
  auto pods = read_list({.value = list, .place = top, .name = "super_pod_list"},
                        "super-pod-list-missing", "list the super pods, or remove the key", report);
  if (!pods) return {};
  table.super_pods = static_cast<std::uint32_t>(pods->size());
  std::vector<std::uint32_t> pod_of = read_super_pods(*pods, table, report);
  for (const Owner& owner : table.owners) {
    if (pod_of[owner.server] != kNone) continue;
    report.add(Severity::kRefused, "super-pod-server-missing", [&] {
      return Details{.place = table.place(owner).at("server_id"),
                     .found = show(owner.server_id) + " in no super pod",
                     .fix = "list it in super_pod_list"};
    });
  }
  check_super_device_ids(table, pod_of, report);
  return pod_of;
}

void check_super_pod_order(const Table& table, const std::vector<std::uint32_t>& pod_of,
                           const std::vector<std::uint32_t>& server_order, Report& report) {
  std::vector<bool> left(table.super_pods);
  std::uint32_t current = kNone;
  for (std::uint32_t index : server_order) {
    const Owner& owner = table.owners[index];
    std::uint32_t pod = pod_of[owner.server];
    if (pod == kNone || pod == current) continue;
    if (current != kNone) left[current] = true;
    current = pod;
    if (!left[pod]) continue;
    report.add(Severity::kWarning, "super-pods-interleaved", [&] {
      return Details{.place = table.place(owner).at("server_id"),
                     .found = "the ranks of this server apart from the rest of its super pod",
                     .fix = "give the servers of a super pod consecutive ranks"};
    });
  }
}

}  // namespace

void check_table(const std::optional<Value>& super_pods, Table& table, Report& report) {
  number_servers(table);
  check_names(table, report);
  std::vector<std::uint32_t> pod_of;
  if (table.format == TableFormat::kTemplate1SuperPod) {
    pod_of = check_super_pods(super_pods, table, report);
  }
  check_addresses(table, report);
  check_hosts(table, report);
  check_devices(table, report);
  if (table.format == TableFormat::kTemplate2) {
    // After a refusal, a field that the orders need may be missing.
    if (!report.refused()) check_pod_order(table, report);
    return;
  }
  if (table.has_gaps) return;
  std::vector<std::uint32_t> by_rank = check_ranks(table, report);
  std::vector<std::uint32_t> order = check_interleaving(table, by_rank, report);
  check_server_order(table, order, report);
  if (!pod_of.empty()) check_super_pod_order(table, pod_of, order, report);
}

}  // namespace envgen::ranktable
