// Reads a rank table's fields, each by HCCL's rule for it.

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/stable_sort.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

constexpr std::uint32_t kMaxDeviceId = 15;  // 910B and A3; the 910 has 8
constexpr std::uint32_t kMaxDeviceIdTemplate2 = 7;
constexpr std::size_t kMaxNameBytes = 64;

constexpr Range kAnyNumber = {.low = 0, .high = kNone - 1, .rule = "not-a-number"};
constexpr Range kPort = {.low = 1, .high = 65535, .rule = "port-range"};

enum DeviceField : std::size_t {
  kDeviceId,
  kDeviceIp,
  kRankId,
  kDevicePort,
  kDeviceVnicPort,
  kHostPort,
  kBackupDeviceIp,
  kBackupDevicePort,
  kSuperDeviceId,
  kDeviceFields,
};
static_assert(kDeviceStrings.size() == kDeviceFields);

std::string count_text(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

void check_count(const Field& field, Need need, std::size_t actual, std::string_view what,
                 Report& report) {
  auto count = read_number(field, need, kAnyNumber, report);
  if (!count || *count == actual) return;
  report.add(Severity::kRefused, "count-mismatch", [&] {
    return Details{.place = field.place.at(field.name),
                   .found = show(*field.value) + " for " + count_text(actual, what),
                   .fix = "complete the list, or correct the count"};
  });
}

// Reads a name that HCCL keeps in one of its pools: at most 64 bytes.
std::string_view read_name(const Field& field, Report& report) {
  auto name = read_string(field, Need::kRequired, report);
  if (!name) return "";
  if (name->size() > kMaxNameBytes) {
    report.add(Severity::kRefused, "name-too-long", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = count_text(name->size(), "bytes: ") + show(*name),
                     .fix = "HCCL takes at most 64 bytes"};
    });
  }
  return *name;
}

std::string_view read_server_id(const Field& field, Report& report) {
  std::string_view server_id = read_name(field, report);
  if (field.value && field.value->is(Type::kString) && server_id.empty()) {
    report.add(Severity::kRefused, "server-id-empty", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = "an empty server_id",
                     .fix = "name the server, by its address for instance"};
    });
  }
  return server_id;
}

std::string_view read_host_ip(const Field& field, Report& report) {
  auto host_ip = read_string(field, Need::kOptional, report);
  if (!host_ip) return "";
  if (ip_family(*host_ip) == IpFamily::kNone) {
    report.add(Severity::kRefused, "host-ip-invalid", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = show(*host_ip) + ", which is no address",
                     .fix = "write the host's IPv4 or IPv6 address, or remove the key"};
    });
  }
  return *host_ip;
}

void check_backup_ip(const Field& field, Report& report) {
  auto addresses = read_string(field, Need::kOptional, report);
  if (!addresses || addresses->empty()) return;
  if (addresses->find(',') != std::string_view::npos) return;
  if (ip_family(*addresses) != IpFamily::kNone) return;
  report.add(Severity::kWarning, "backup-device-ip", [&] {
    return Details{.place = field.place.at(field.name),
                   .found = show(*addresses) + ", which is no address",
                   .fix = "HCCL refuses it when retry between super pods is on"};
  });
}

void read_device_id(const Field& field, TableFormat format, Row& row, Report& report) {
  constexpr Range kRange = {.low = 0, .high = kMaxDeviceId, .rule = "device-id-range"};
  auto device_id = read_number(field, Need::kRequired, kRange, report);
  if (!device_id) return;
  row.device_id = static_cast<std::uint8_t>(*device_id);
  if (format != TableFormat::kTemplate2 || *device_id <= kMaxDeviceIdTemplate2) return;
  report.add(Severity::kRepaired, "device-id-range", [&] {
    return Details{.place = field.place.at(field.name),
                   .found = show(*field.value) + ", and HCCL takes 0 to 7 in a template 2",
                   .fix = "convert it to template 1, where HCCL takes 0 to 15"};
  });
}

bool is_object(const Value& value, const FieldPath& place, Table& table, Report& report) {
  if (value.is(Type::kObject)) return true;
  table.has_gaps = true;
  report.add(Severity::kRefused, "not-an-object", [&] {
    return Details{.place = place.at(""), .found = show(value), .fix = "write an object here"};
  });
  return false;
}

void read_device(const Value& device, std::size_t position, Table& table, Report& report) {
  auto owner = static_cast<std::uint32_t>(table.owners.size() - 1);
  FieldPath place = table.place(table.owners.back()).in(table.device_list(), position);
  if (!is_object(device, place, table, report)) return;
  std::array<std::optional<Value>, kDeviceFields> values;
  gather(device, place, kDeviceStrings, values, report);
  auto field = [&](DeviceField which) {
    return Field{.value = values[which], .place = place, .name = kDeviceStrings[which]};
  };
  Row row{.owner = owner, .position = Row::position_of(position)};
  read_device_id(field(kDeviceId), table.format, row, report);
  if (values[kDeviceIp]) {
    table.set_ip(row, read_string(field(kDeviceIp), Need::kOptional, report).value_or(""));
  }
  for (DeviceField port : {kDevicePort, kDeviceVnicPort, kHostPort, kBackupDevicePort}) {
    if (values[port]) read_number(field(port), Need::kOptional, kPort, report);
  }
  if (values[kBackupDeviceIp]) check_backup_ip(field(kBackupDeviceIp), report);
  if (table.is_template1()) {
    row.rank = read_number(field(kRankId), Need::kRequired, kAnyNumber, report).value_or(kNone);
  }
  if (values[kSuperDeviceId]) {
    row.super_device_id =
        read_number(field(kSuperDeviceId), Need::kOptional, kAnyNumber, report).value_or(kNone);
  }
  table.rows.push_back(row);
  table.row_sources.push_back(device);
}

void read_devices(const Field& field, const std::optional<Value>& misnamed, Table& table,
                  Report& report) {
  std::string fix = "list the devices under \"" + std::string(table.device_list()) + "\"";
  if (misnamed) fix = "this template calls the list \"" + std::string(table.device_list()) + "\"";
  auto devices = read_list(field, "device-list-missing", fix, report);
  if (!devices) {
    table.has_gaps = true;
    return;
  }
  std::size_t position = 0;
  for (Value device : *devices) read_device(device, position++, table, report);
}

void read_server(const Value& server, std::uint32_t position, Table& table, Report& report) {
  const FieldPath place = FieldPath().in("server_list", position);
  if (!is_object(server, place, table, report)) return;
  static constexpr std::array<std::string_view, 5> kNames = {"server_id", "host_ip", "container_ip",
                                                             "device", "devices"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(server, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  table.owner_sources.push_back(server);
  table.owners.push_back({.server_id = read_server_id(field(0), report),
                          .pod_name = "",
                          .host_ip = read_host_ip(field(1), report),
                          .container_ip = plain_string(values[2]),
                          .position = position});
  read_devices(field(3), values[4], table, report);
}

void read_instance(const Value& instance, std::uint32_t group, std::uint32_t position, Table& table,
                   Report& report) {
  const FieldPath place = FieldPath().in("group_list", group).in("instance_list", position);
  if (!is_object(instance, place, table, report)) return;
  static constexpr std::array<std::string_view, 7> kNames = {
      "server_id", "host_ip", "container_ip", "devices", "device", "pod_name", "rank_id"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(instance, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  bool lab = table.format == TableFormat::kLab;
  table.owner_sources.push_back(instance);
  table.owners.push_back({.server_id = read_server_id(field(0), report),
                          .pod_name = lab ? "" : read_name(field(5), report),
                          .host_ip = read_host_ip(field(1), report),
                          .container_ip = plain_string(values[2]),
                          .group = group,
                          .position = position});
  std::size_t first = table.rows.size();
  read_devices(field(3), values[4], table, report);
  if (!lab) return;
  auto rank = read_number(field(6), Need::kRequired, kAnyNumber, report);
  if (table.rows.size() == first + 1) {
    table.rows.back().rank = rank.value_or(kNone);
  } else if (table.rows.size() > first) {
    report.add(Severity::kRefused, "lab-instance-devices", [&] {
      return Details{.place = place.at("devices"),
                     .found = count_text(table.rows.size() - first, "devices for one rank_id"),
                     .fix = "an instance of a lab table has one device"};
    });
  }
}

void check_lab_group(const Field& device_num, const Field& server_num, std::size_t devices,
                     Report& report) {
  check_count(device_num, Need::kRequired, devices, "devices", report);
  auto servers = read_number(server_num, Need::kRequired, kAnyNumber, report);
  if (!servers) return;
  std::size_t average = *servers == 0 ? 0 : devices / *servers;
  bool whole = *servers != 0 && devices % *servers == 0;
  if (whole && average <= 16 && (average & (average - 1)) == 0 && average != 0) return;
  report.add(Severity::kRefused, "lab-device-average", [&] {
    return Details{.place = server_num.place.at(server_num.name),
                   .found = count_text(devices, "devices on ") + count_text(*servers, "servers"),
                   .fix = "HCCL takes 1, 2, 4, 8 or 16 devices on each server"};
  });
}

// Returns whether the group is skipped. ModelArts' run_ascend skips a group without devices, HCCL
// refuses it.
bool is_skipped(const std::optional<Value>& device_count, const std::optional<Value>& instances,
                const FieldPath& place, Report& report) {
  bool zero = device_count &&
              (device_count->is(Type::kString) || device_count->is(Type::kInteger)) &&
              device_count->text() == "0";
  if (!zero || (instances && instances->size() > 0)) return false;
  report.add(Severity::kRepaired, "group-skipped", [&] {
    return Details{.place = place.at("device_count"),
                   .found = "a group without devices, which HCCL refuses",
                   .fix = "it is skipped, as ModelArts' launcher does"};
  });
  return true;
}

// Warns of a group's own keys. Template 1 has no groups, so a conversion drops them.
void note_group_keys(const Value& group, const FieldPath& place,
                     std::span<const std::string_view> known, Report& report) {
  for (Value member : group) {
    if (std::ranges::find(known, member.key()) != known.end()) continue;
    report.add(Severity::kWarning, "group-key-dropped", [&] {
      return Details{.place = place.at(member.key()),
                     .found = "a key of a group",
                     .fix = "template 1 has no groups: it is dropped in a conversion"};
    });
  }
}

struct GroupName {
  std::string_view name;
  std::uint32_t group;
  FieldPath place;
};

void read_group(const Value& group, const FieldPath& place, std::uint32_t index, Table& table,
                std::vector<GroupName>& names, Report& report) {
  if (!is_object(group, place, table, report)) return;
  static constexpr std::array<std::string_view, 6> kNames = {
      "group_name", "instance_count", "instance_list", "device_count", "device_num", "server_num"};
  std::array<std::optional<Value>, kNames.size()> values;
  gather(group, place, kNames, values, report);
  auto field = [&](std::size_t which) {
    return Field{.value = values[which], .place = place, .name = kNames[which]};
  };
  note_group_keys(group, place, kNames, report);
  bool lab = table.format == TableFormat::kLab;
  if (!lab && is_skipped(values[3], values[2], place, report)) return;
  if (values[0])
    names.push_back({.name = read_name(field(0), report), .group = index, .place = place});
  if (!values[0]) read_name(field(0), report);
  auto instances =
      read_list(field(2), "instance-list-missing", "list the pods under \"instance_list\"", report);
  if (!instances) {
    table.has_gaps = true;
    return;
  }
  check_count(field(1), Need::kRequired, instances->size(), "instances", report);
  std::size_t first = table.rows.size();
  std::uint32_t position = 0;
  for (Value instance : *instances) read_instance(instance, index, position++, table, report);
  std::size_t devices = table.rows.size() - first;
  if (table.has_gaps) return;
  if (lab) {
    check_lab_group(field(4), field(5), devices, report);
  } else {
    check_count(field(3), Need::kRequired, devices, "devices", report);
  }
}

void check_group_names(std::vector<GroupName>& names, Report& report) {
  base::stable_sort(names, std::less(),
                    [](const GroupName& entry) { return std::pair(entry.name, entry.group); });
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].name != names[i - 1].name) continue;
    report.add(Severity::kRefused, "group-name-duplicate", [&] {
      return Details{.place = names[i].place.at("group_name"),
                     .found = show(names[i].name) + ", as in an earlier group",
                     .fix = "name each group differently"};
    });
  }
}

void check_lab_head(const Value& root, Report& report) {
  constexpr std::string_view kLocation = "para_plane_nic_location";
  std::optional<Value> location = root.find(kLocation);
  if (plain_string(location) == "device") return;
  report.add(location ? Severity::kRefused : Severity::kRepaired, "lab-nic-location", [&] {
    return Details{.place = std::string(kLocation),
                   .found = location ? show(*location) : "no para_plane_nic_location",
                   .fix = "HCCL takes \"device\": the NICs of the devices"};
  });
}

}  // namespace

FieldPath FieldPath::in(std::string_view list, std::size_t index) const {
  FieldPath place = *this;
  place.steps_[place.depth_++] = {.list = list, .index = index};
  return place;
}

std::string FieldPath::at(std::string_view field) const {
  std::string text;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (i > 0) text += '.';
    text += steps_[i].list;
    text += '[' + std::to_string(steps_[i].index) + ']';
  }
  if (!text.empty() && !field.empty()) text += '.';
  text += field;
  return text;
}

std::vector<Finding> Report::take() && {
  for (const auto& [rule, count] : counts_) {
    if (count <= kMaxPerRule) continue;
    auto first = std::ranges::find(findings_, rule, &Finding::rule);
    findings_.push_back({.severity = first->severity,
                         .rule = first->rule,
                         .place = "the whole table",
                         .found = std::to_string(count) + " findings of this rule, of which " +
                                  std::to_string(kMaxPerRule) + " are shown",
                         .fix = first->fix});
  }
  return std::move(findings_);
}

std::string show(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  std::string_view shown = text.substr(0, kMaxShown);
  while (shown.size() < text.size() && !shown.empty() &&
         (static_cast<unsigned char>(text[shown.size()]) & 0xC0) == 0x80) {
    shown.remove_suffix(1);  // moves the cut to the start of a character
  }
  base::json::Writer writer(false);
  writer.string(shown);
  return std::move(writer).take() + (shown.size() < text.size() ? "..." : "");
}

std::string show(const Value& value) {
  switch (value.type()) {
    case Type::kString:
      return show(value.text());
    case Type::kBool:
    case Type::kInteger:
    case Type::kFloat:
      return std::string(value.text().substr(0, 60));
    case Type::kNull:
    case Type::kArray:
    case Type::kObject:
      break;
  }
  return std::string(base::json::type_name(value.type()));
}

std::string_view plain_string(const std::optional<Value>& value) {
  return value && value->is(Type::kString) ? value->text() : std::string_view();
}

std::optional<std::uint32_t> decimal(std::string_view text) {
  constexpr std::size_t kMaxDigits = 10;
  if (text.empty() || text.size() > kMaxDigits || (text[0] == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (number >= kNone) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

std::optional<std::uint32_t> ipv4_at(const char*& at, const char* end) {
  // Returns the next digit, or a number above 9. With `roomy` the text is longer than any address,
  // so its end need not be checked.
  const auto digit = [&at, end](bool roomy) -> std::uint32_t {
    return roomy || at < end ? static_cast<unsigned char>(*at) - unsigned{'0'} : 10U;
  };
  const bool roomy = end - at > static_cast<std::ptrdiff_t>(sizeof(Table::IpText));
  std::uint32_t number = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (at == end || *at != '.') return std::nullopt;
      ++at;
    }
    std::uint32_t value = digit(roomy);
    if (value > 9) return std::nullopt;
    ++at;
    for (int more = 0; more < 2 && value != 0; ++more) {
      const std::uint32_t next = digit(roomy);
      if (next > 9) break;
      value = value * 10 + next;
      ++at;
    }
    if (value > 255) return std::nullopt;
    number = number << 8 | value;
  }
  return number;
}

std::optional<std::uint32_t> ipv4_number(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  const auto number = ipv4_at(at, end);
  return at == end ? number : std::nullopt;
}

std::string_view Table::ip(const Row& row, IpText& buffer) const {
  if (row.ip_kind == IpKind::kAbsent) return "";
  if (row.ip_kind == IpKind::kText) return addresses[row.ip];
  char* at = buffer.data();
  for (int shift = 24; shift >= 0; shift -= 8) {
    at = std::to_chars(at, buffer.data() + buffer.size(), row.ip >> shift & 0xFF).ptr;
    if (shift > 0) *at++ = '.';
  }
  return {buffer.data(), at};
}

IpFamily ip_family(std::string_view text) {
  // Characters that an address can contain. inet_pton would read up to a NUL, and lists of
  // addresses are split at commas.
  auto is_possible = [](char c) { return c > ' ' && c < '\x7F' && c != ','; };
  if (!std::ranges::all_of(text, is_possible)) return IpFamily::kNone;
  std::size_t zone = text.find('%');
  if (zone == 0 || zone + 1 == text.size()) return IpFamily::kNone;
  text = text.substr(0, zone);
  std::array<char, INET6_ADDRSTRLEN> address{};
  if (text.empty() || text.size() >= address.size()) return IpFamily::kNone;
  text.copy(address.data(), text.size());
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  bool v6 = std::ranges::count(text, ':') >= 2;
  if (inet_pton(v6 ? AF_INET6 : AF_INET, address.data(), binary.data()) != 1) {
    return IpFamily::kNone;
  }
  return v6 ? IpFamily::kIpv6 : IpFamily::kIpv4;
}

void gather(const Value& object, const FieldPath& place, std::span<const std::string_view> names,
            std::span<std::optional<Value>> values, Report& report) {
  for (Value member : object) {
    std::string_view key = member.key();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != key) continue;
      if (values[i]) {
        report.add(Severity::kRefused, "duplicate-key", [&] {
          return Details{.place = place.at(key),
                         .found = "the key twice in one object",
                         .fix = "remove one: readers differ in which they take"};
        });
      }
      values[i] = member;
    }
  }
}

std::optional<std::string_view> read_string(const Field& field, Need need, Report& report) {
  if (!field.value) {
    if (need == Need::kRequired) {
      report.add(Severity::kRefused, "key-missing", [&] {
        return Details{.place = field.place.at(field.name),
                       .found = "no \"" + std::string(field.name) + "\"",
                       .fix = "add it"};
      });
    }
    return std::nullopt;
  }
  const Value& value = *field.value;
  if (value.is(Type::kString)) return value.text();
  if (value.is(Type::kInteger)) {
    report.add(Severity::kRepaired, "integer-for-string", [&] {
      return Details{.place = field.place.at(field.name),
                     .found = "the integer " + show(value) + ", and HCCL takes only a string",
                     .fix = "write \"" + show(value) + "\""};
    });
    return value.text();
  }
  report.add(Severity::kRefused, "not-a-string", [&] {
    return Details{.place = field.place.at(field.name),
                   .found = show(value) + ", and HCCL takes only a string",
                   .fix = "write it as a string"};
  });
  return std::nullopt;
}

std::optional<std::uint32_t> read_number(const Field& field, Need need, const Range& range,
                                         Report& report) {
  auto text = read_string(field, need, report);
  if (!text) return std::nullopt;
  auto number = decimal(*text);
  if (number && *number >= range.low && *number <= range.high) return number;
  report.add(Severity::kRefused, number ? range.rule : "not-a-number", [&] {
    std::string limits = std::to_string(range.low) + " to " + std::to_string(range.high);
    return Details{.place = field.place.at(field.name),
                   .found = show(*field.value) + (number ? ", which is out of range"
                                                         : ", which is no plain decimal number"),
                   .fix = "write a number from " + limits + " in decimal digits"};
  });
  return std::nullopt;
}

std::optional<Value> read_list(const Field& field, std::string_view rule, std::string_view fix,
                               Report& report) {
  if (field.value && field.value->is(Type::kArray) && field.value->size() > 0) return field.value;
  report.add(Severity::kRefused, rule, [&] {
    std::string found = "no \"" + std::string(field.name) + "\"";
    if (field.value) found = field.value->is(Type::kArray) ? "an empty list" : show(*field.value);
    return Details{.place = field.place.at(field.name), .found = found, .fix = std::string(fix)};
  });
  return std::nullopt;
}

Table read_servers(const Value& root, TableFormat format, Report& report) {
  Table table;
  table.format = format;
  static constexpr std::array<std::string_view, 5> kNames = {"server_list", "server_count",
                                                             "super_pod_list", "status", "version"};
  std::array<std::optional<Value>, kNames.size()> values;
  FieldPath top;
  gather(root, top, kNames, values, report);
  auto servers = read_list({.value = values[0], .place = top, .name = kNames[0]},
                           "server-list-missing", "list the servers under \"server_list\"", report);
  if (!servers) return table;
  if (values[1]) {
    check_count({.value = values[1], .place = top, .name = kNames[1]}, Need::kOptional,
                servers->size(), "servers", report);
  } else {
    report.add(Severity::kWarning, "server-count-missing", [] {
      return Details{.place = "server_count",
                     .found = "no \"server_count\"",
                     .fix = "HCCL counts the list; other readers want it"};
    });
  }
  table.owners.reserve(servers->size());
  std::uint32_t position = 0;
  for (Value server : *servers) read_server(server, position++, table, report);
  return table;
}

Table read_groups(const Value& root, TableFormat format, Report& report) {
  Table table;
  table.format = format;
  static constexpr std::array<std::string_view, 3> kNames = {"group_list", "group_count", "status"};
  std::array<std::optional<Value>, kNames.size()> values;
  FieldPath top;
  gather(root, top, kNames, values, report);
  if (format == TableFormat::kLab) check_lab_head(root, report);
  auto groups =
      read_list({.value = values[0], .place = top, .name = kNames[0]}, "group-list-missing",
                "the status says completed but nothing is listed: have the platform fill "
                "the table, or start the job again",
                report);
  if (!groups) return table;
  check_count({.value = values[1], .place = top, .name = kNames[1]}, Need::kRequired,
              groups->size(), "groups", report);
  std::vector<GroupName> names;
  std::uint32_t index = 0;
  for (Value group : *groups) {
    read_group(group, top.in("group_list", index), index, table, names, report);
    ++index;
  }
  check_group_names(names, report);
  if (table.rows.empty() && !report.refused()) {
    report.add(Severity::kRefused, "no-devices", [] {
      return Details{.place = "group_list",
                     .found = "groups without any device",
                     .fix = "the job has no devices: have the platform assign some"};
    });
  }
  return table;
}

}  // namespace envgen::ranktable
