// Writing template 1, and the nodes it means.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// A member as template 1 wants it: a number becomes a string where HCCL reads a string.
template <std::size_t N>
void write_member(json::Writer& writer, const Value& member,
                  const std::array<std::string_view, N>& strings) {
  writer.key(member.key());
  bool number = member.is(Type::kInteger) || member.is(Type::kFloat);
  if (number && contains(strings, member.key())) {
    writer.string(member.text());
  } else {
    writer.copy(member);
  }
}

void write_device(json::Writer& writer, const Value& device) {
  writer.begin_object();
  for (Value member : device) write_member(writer, member, kDeviceStrings);
  writer.end_object();
}

void write_server(json::Writer& writer, const Value& server) {
  writer.begin_object();
  for (Value member : server) {
    if (member.key() != "device") {
      write_member(writer, member, kServerStrings);
      continue;
    }
    writer.key("device").begin_array();
    for (Value device : member) write_device(writer, device);
    writer.end_array();
  }
  writer.end_object();
}

}  // namespace

void write_super_pods(json::Writer& writer, const Value& list) {
  constexpr std::array<std::string_view, 1> kPodStrings = {"super_pod_id"};
  writer.begin_array();
  for (Value pod : list) {
    writer.begin_object();
    for (Value member : pod) {
      if (member.key() != "server_list") {
        write_member(writer, member, kPodStrings);
        continue;
      }
      writer.key("server_list").begin_array();
      for (Value server : member) write_server(writer, server);
      writer.end_array();
    }
    writer.end_object();
  }
  writer.end_array();
}

void rewrite_template1(const Value& root, TableFormat format, json::Writer& writer) {
  writer.begin_object();
  for (Value member : root) {
    if (member.key() == "server_list") {
      writer.key("server_list").begin_array();
      for (Value server : member) write_server(writer, server);
      writer.end_array();
    } else if (member.key() == "super_pod_list" && format == TableFormat::kTemplate1SuperPod) {
      writer.key("super_pod_list");
      write_super_pods(writer, member);
    } else {
      write_member(writer, member, kTopStrings);
    }
  }
  writer.end_object();
}

namespace {

std::vector<std::uint32_t> rows_by_rank(const Table& table) {
  std::vector<std::uint32_t> rows(table.rows.size());
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[table.rows[row].rank] = row;
  return rows;
}

struct Server {
  std::vector<std::uint32_t> owners;  // in the order of their lowest rank
  std::vector<std::uint32_t> rows;    // in rank order
};

std::vector<Server> servers_by_rank(const Table& table) {
  std::vector<Server> servers;
  std::vector<std::uint32_t> position(table.servers, kNone);
  std::vector<bool> owner_seen(table.owners.size());
  for (std::uint32_t row : rows_by_rank(table)) {
    std::uint32_t index = table.rows[row].owner;
    std::uint32_t& at = position[table.owners[index].server];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(servers.size());
      servers.emplace_back();
    }
    servers[at].rows.push_back(row);
    if (!owner_seen[index]) servers[at].owners.push_back(index);
    owner_seen[index] = true;
  }
  return servers;
}

// A rank_id in a template 2 has no meaning there, and another one here.
void write_new_device(json::Writer& writer, const Table& table, std::uint32_t index,
                      std::string& digits) {
  const Row& row = table.rows[index];
  constexpr std::array<std::string_view, 3> kOwn = {"device_id", "device_ip", "rank_id"};
  writer.begin_object();
  digits = std::to_string(row.device_id);
  writer.key("device_id").string(digits);
  if (row.has_ip()) writer.key("device_ip").string(row.ip());
  digits = std::to_string(row.rank);
  writer.key("rank_id").string(digits);
  if (!table.row_sources.empty()) {
    for (Value member : table.row_sources[index]) {
      if (!contains(kOwn, member.key())) write_member(writer, member, kDeviceStrings);
    }
  }
  writer.end_object();
}

bool is_instance_key(std::string_view key, TableFormat format) {
  constexpr std::array<std::string_view, 4> kOwn = {"server_id", "device", "devices", "pod_name"};
  return contains(kOwn, key) || (key == "rank_id" && format == TableFormat::kLab);
}

void write_new_server(json::Writer& writer, const Table& table, const Server& server,
                      std::string& digits) {
  writer.begin_object();
  writer.key("server_id").string(table.owners[server.owners.front()].server_id);
  writer.key("device").begin_array();
  for (std::uint32_t row : server.rows) write_new_device(writer, table, row, digits);
  writer.end_array();
  if (table.owner_sources.empty()) {
    writer.end_object();
    return;
  }
  std::unordered_set<std::string_view> written;
  for (std::uint32_t owner : server.owners) {
    for (Value member : table.owner_sources[owner]) {
      if (is_instance_key(member.key(), table.format)) continue;
      if (server.owners.size() > 1 && !written.insert(member.key()).second) continue;
      write_member(writer, member, kServerStrings);
    }
  }
  writer.end_object();
}

bool is_group_table_key(std::string_view key, TableFormat format) {
  constexpr std::array<std::string_view, 6> kOwn = {"status",      "version",    "server_count",
                                                    "server_list", "group_list", "group_count"};
  constexpr std::array<std::string_view, 6> kLab = {"board_id",           "chip_info",
                                                    "deploy_mode",        "para_plane_nic_location",
                                                    "para_plane_nic_num", "para_plane_nic_name"};
  return contains(kOwn, key) || (format == TableFormat::kLab && contains(kLab, key));
}

Node make_node(const Owner& owner) {
  return {.pod_name = std::string(owner.pod_name),
          .server_id = std::string(owner.server_id),
          .host_ip = std::string(owner.host_ip),
          .container_ip = std::string(owner.container_ip),
          .devices = {}};
}

Device make_device(const Row& row) {
  return {.physical_id = static_cast<int>(row.device_id),
          .rank = static_cast<int>(row.rank),
          .ip = std::string(row.ip())};
}

// The position of each owner's node, in the order of their lowest ranks. In a lab table an
// instance is one device, so there a node is a server.
std::vector<std::uint32_t> node_positions(const Table& table, std::vector<Node>& nodes) {
  bool by_server = table.format == TableFormat::kLab;
  std::vector<std::uint32_t> position(by_server ? table.servers : table.owners.size(), kNone);
  for (std::uint32_t row : rows_by_rank(table)) {
    const Owner& owner = table.owners[table.rows[row].owner];
    std::uint32_t& at = position[by_server ? owner.server : table.rows[row].owner];
    if (at != kNone) continue;
    at = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(make_node(owner));
  }
  return position;
}

}  // namespace

// Devices of template 1 keep their listed order, which is what a logical device id counts; in the
// other formats it is the rank order.
std::vector<Node> make_nodes(const Table& table) {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> position = node_positions(table, nodes);
  auto node_of = [&](const Row& row) -> Node& {
    bool by_server = table.format == TableFormat::kLab;
    return nodes[position[by_server ? table.owners[row.owner].server : row.owner]];
  };
  auto add = [&](const Row& row) { node_of(row).devices.push_back(make_device(row)); };
  for (Node& node : nodes) node.slots = 0;
  for (const Row& row : table.rows) ++node_of(row).slots;
  for (Node& node : nodes)
    node.devices.reserve(static_cast<std::size_t>(std::exchange(node.slots, 0)));
  if (table.is_template1()) {
    for (const Row& row : table.rows) add(row);
  } else {
    for (std::uint32_t row : rows_by_rank(table)) add(table.rows[row]);
  }
  return nodes;
}

void write_template1(const Value* root, const Table& table, json::Writer& writer) {
  std::vector<Server> servers = servers_by_rank(table);
  std::string digits;
  writer.begin_object();
  writer.key("status").string("completed");
  writer.key("version").string("1.0");
  writer.key("server_count").string(std::to_string(servers.size()));
  writer.key("server_list").begin_array();
  for (const Server& server : servers) write_new_server(writer, table, server, digits);
  writer.end_array();
  if (root != nullptr) {
    for (Value member : *root) {
      if (is_group_table_key(member.key(), table.format)) continue;
      write_member(writer, member, kTopStrings);
    }
  }
  writer.end_object();
}

}  // namespace envgen::ranktable
