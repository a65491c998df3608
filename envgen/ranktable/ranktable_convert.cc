// Writes template 1, and makes the nodes of a table.

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "base/content_hash.h"
#include "base/stable_sort.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

constexpr std::string_view kDeviceId = "device_id";
constexpr std::string_view kDeviceIp = "device_ip";
constexpr std::string_view kRankId = "rank_id";
constexpr std::array<std::string_view, 3> kNewDevice = {kDeviceId, kDeviceIp, kRankId};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Writes a member as template 1 requires it: if HCCL reads a string there, a number becomes a
// string.
template <std::size_t N>
void write_member(base::json::Writer& writer, const Value& member,
                  const std::array<std::string_view, N>& strings) {
  writer.key(member.key());
  bool number = member.is(Type::kInteger) || member.is(Type::kFloat);
  if (number && contains(strings, member.key())) {
    writer.string(member.text());
  } else {
    writer.copy(member);
  }
}

void write_device(base::json::Writer& writer, const Value& device) {
  writer.begin_object();
  for (Value member : device) write_member(writer, member, kDeviceStrings);
  writer.end_object();
}

void write_server(base::json::Writer& writer, const Value& server) {
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

void write_super_pods(base::json::Writer& writer, const Value& list) {
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

void rewrite_template1(const Value& root, TableFormat format, base::json::Writer& writer) {
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
  std::vector<std::uint32_t> owners;  // in the order of their lowest ranks
  std::vector<std::uint32_t> rows;    // in the order of ranks
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

// Writes the devices of a table in which all devices have the same keys, so that only values
// differ.
class DeviceText {
 public:
  explicit DeviceText(std::span<const std::string_view> keys) {
    constexpr int kDepth = 4;  // levels: root, server_list, server, its devices
    constexpr std::string_view kValue = "?";
    base::json::Writer sample;
    for (int level = 0; level < kDepth; ++level) sample.begin_array();
    sample.begin_object();
    for (std::string_view key : keys) sample.key(key).string(kValue);
    sample.end_object();
    end_ = std::move(sample).take();
    end_.pop_back();  // removes the end of the last line
    end_.erase(0, end_.find('{'));
    for (std::string_view key : keys) {
      const std::size_t value = end_.find(kValue);
      parts_.push_back({.before = end_.substr(0, value), .member = member_of(key)});
      end_.erase(0, value + kValue.size());
    }
  }

  void write(base::json::Writer& out, const Table& table, const Row& row) {
    text_.clear();
    for (const Part& part : parts_) {
      text_ += part.before;
      if (part.member == nullptr) {
        Table::IpText buffer;
        text_ += table.ip(row, buffer);
      } else {
        std::array<char, std::numeric_limits<std::uint32_t>::digits10 + 1> digits;
        const std::uint32_t number = part.member(row);
        text_.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), number).ptr);
      }
    }
    text_ += end_;
    out.literal(text_);
  }

 private:
  using Member = std::uint32_t (*)(const Row&);  // nullptr for the address

  static Member member_of(std::string_view key) {
    if (key == kDeviceIp) return nullptr;
    if (key == kDeviceId) return [](const Row& row) { return std::uint32_t{row.device_id}; };
    if (key == kRankId) return [](const Row& row) { return row.rank; };
    return [](const Row& row) { return row.super_device_id; };
  }

  struct Part {
    std::string before;
    Member member;
  };
  std::vector<Part> parts_;
  std::string end_;
  std::string text_;
};

// Writes a device. A rank_id in a template 2 has no meaning there, but is a key of template 1, so
// the old value is dropped.
void write_new_device(base::json::Writer& writer, const Table& table, std::uint32_t index) {
  const Row& row = table.rows[index];
  writer.begin_object();
  writer.key(kDeviceId).string(std::to_string(row.device_id));
  if (row.ip_kind != IpKind::kAbsent) writer.key(kDeviceIp).string(table.ip(row));
  writer.key(kRankId).string(std::to_string(row.rank));
  for (Value member : table.row_sources[index]) {
    if (!contains(kNewDevice, member.key())) write_member(writer, member, kDeviceStrings);
  }
  writer.end_object();
}

bool is_instance_key(std::string_view key, TableFormat format) {
  constexpr std::array<std::string_view, 4> kOwn = {"server_id", "device", "devices", "pod_name"};
  return contains(kOwn, key) || (key == "rank_id" && format == TableFormat::kLab);
}

// Writes the devices of a scanned table, which have only known keys.
struct NewDevices {
  DeviceText full{kNewDevice};
  DeviceText without_ip{std::array{kDeviceId, kRankId}};

  void write(base::json::Writer& writer, const Table& table, const Server& server) {
    for (std::uint32_t index : server.rows) {
      const Row& row = table.rows[index];
      (row.ip_kind == IpKind::kAbsent ? without_ip : full).write(writer, table, row);
    }
  }
};

void write_new_server(base::json::Writer& writer, const Table& table, const Server& server,
                      NewDevices& scanned) {
  writer.begin_object();
  writer.key("server_id").string(table.owners[server.owners.front()].server_id);
  writer.key("device").begin_array();
  if (table.row_sources.empty()) scanned.write(writer, table, server);
  if (!table.row_sources.empty()) {
    for (std::uint32_t row : server.rows) write_new_device(writer, table, row);
  }
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
  return {.physical_id = static_cast<int>(row.device_id), .rank = static_cast<int>(row.rank)};
}

// Returns the position of each owner's node, in the order of their lowest ranks. In a lab table an
// instance is one device, so a node is a server there.
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

// Devices of template 1 keep their listed order, which a logical device id counts. In the other
// formats the rank order decides.
std::vector<Node> make_nodes(const Table& table) {
  std::vector<Node> nodes;
  nodes.reserve(table.format == TableFormat::kLab ? table.servers : table.owners.size());
  std::vector<std::uint32_t> position = node_positions(table, nodes);
  const bool by_server = table.format == TableFormat::kLab;
  for (std::size_t at = 0; at < table.rows.size();) {
    const std::uint32_t owner = table.rows[at].owner;
    std::size_t end = at;
    while (end < table.rows.size() && table.rows[end].owner == owner) ++end;
    auto& devices = nodes[position[by_server ? table.owners[owner].server : owner]].devices;
    devices.reserve(devices.size() + end - at);
    for (; at < end; ++at) devices.push_back(make_device(table.rows[at]));
  }
  if (table.is_template1()) return nodes;
  for (Node& node : nodes) base::stable_sort(node.devices, std::less(), &Device::rank);
  return nodes;
}

std::uint64_t address_digest(const Table& table) {
  std::string all;  // all addresses in rank order: numbers of plain ones, other texts after their
                    // size
  all.reserve(table.rows.size() * sizeof(Row::ip));
  const auto add = [&all](std::uint32_t number) {
    all.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  bool told = false;
  for (std::uint32_t index : rows_by_rank(table)) {
    const Row& row = table.rows[index];
    if (row.ip_kind == IpKind::kNumber) {
      add(row.ip);
      told = true;
      continue;
    }
    const std::string text = table.ip(row);
    add(static_cast<std::uint32_t>(text.size()));
    all += text;
    told = told || !text.empty();
  }
  return told ? base::hash_of(all) : 0;
}

void rewrite_scanned(const Value* super_pods, const Table& table, base::json::Writer& writer) {
  DeviceText device(table.keys.device);
  std::size_t row = 0;
  const auto write_server = [&](std::uint32_t index) {
    const Owner& owner = table.owners[index];
    writer.begin_object();
    for (std::string_view key : table.keys.server) {
      writer.key(key);
      if (key == "server_id") writer.string(owner.server_id);
      if (key == "container_ip") writer.string(owner.container_ip);
      if (key != "device") continue;
      writer.begin_array();
      for (; row < table.rows.size() && table.rows[row].owner == index; ++row) {
        device.write(writer, table, table.rows[row]);
      }
      writer.end_array();
    }
    writer.end_object();
  };
  writer.begin_object();
  for (std::string_view key : table.keys.top) {
    writer.key(key);
    if (key == "status") writer.string("completed");
    if (key == "version") {
      writer.string(table.format == TableFormat::kTemplate1SuperPod ? "1.2" : "1.0");
    }
    if (key == "server_count") writer.string(std::to_string(table.owners.size()));
    if (key == "super_pod_list") write_super_pods(writer, *super_pods);
    if (key != "server_list") continue;
    writer.begin_array();
    for (std::uint32_t i = 0; i < table.owners.size(); ++i) write_server(i);
    writer.end_array();
  }
  writer.end_object();
}

void write_template1(const Value* root, const Table& table, base::json::Writer& writer) {
  std::vector<Server> servers = servers_by_rank(table);
  NewDevices scanned;
  writer.begin_object();
  writer.key("status").string("completed");
  writer.key("version").string("1.0");
  writer.key("server_count").string(std::to_string(servers.size()));
  writer.key("server_list").begin_array();
  for (const Server& server : servers) write_new_server(writer, table, server, scanned);
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
