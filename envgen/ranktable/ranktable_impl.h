#pragma once
// The implementation of ranktable.h, shared by ranktable*.cc only. A table is read into flat rows,
// one per device. Checks and conversion work on rows, and make strings only for what they report.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "envgen/ranktable/ranktable.h"

namespace envgen {

namespace ranktable {

using base::json::Type;
using base::json::Value;
using Severity = Finding::Severity;

// The position of a field in a table, as messages show it:
// "group_list[0].instance_list[2].devices[1]".
class FieldPath {
 public:
  [[nodiscard]] FieldPath in(std::string_view list, std::size_t index) const;
  [[nodiscard]] std::string at(std::string_view field) const;  // "<place>.<field>" as text

 private:
  struct Step {
    std::string_view list;
    std::size_t index = 0;
  };
  std::array<Step, 3> steps_{};
  std::size_t depth_ = 0;
};

struct Details {
  std::string place;
  std::string found;
  std::string fix;
};

// A collection of findings. A broken table of 80,000 devices breaks the same rule 80,000 times, so
// only the first kMaxPerRule findings of a rule are kept, together with the number of all.
class Report {
 public:
  static constexpr std::size_t kMaxPerRule = 10;

  // Adds a finding. `build` makes its Details; it is called only for findings that are kept.
  template <class Build>
  void add(Severity severity, std::string_view rule, const Build& build) {
    if (severity == Severity::kRefused) refused_ = true;
    if (++counts_[rule] > kMaxPerRule) return;
    Details details = build();
    findings_.push_back({.severity = severity,
                         .rule = std::string(rule),
                         .place = std::move(details.place),
                         .found = std::move(details.found),
                         .fix = std::move(details.fix)});
  }
  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] std::vector<Finding> take() &&;

 private:
  std::vector<Finding> findings_;
  std::map<std::string_view, std::size_t> counts_;  // keys are string literals
  bool refused_ = false;
};

// Returns a value for a message: a shortened string in quotes, a number as it is, "an array".
std::string show(const Value& value);
std::string show(std::string_view text);

// Returns the content of a string; "" for any other value and for nullopt.
std::string_view plain_string(const std::optional<Value>& value);

// Reads a decimal number without sign, blanks or leading zeros.
std::optional<std::uint32_t> decimal(std::string_view text);

enum class IpFamily : unsigned char { kNone, kIpv4, kIpv6 };
// Returns an IPv4 address as a number, the first part in its highest byte. Accepts only the
// canonical form, "10.0.0.1".
std::optional<std::uint32_t> ipv4_number(std::string_view text);
// Reads an IPv4 address that begins at `at`, and moves `at` to its end.
std::optional<std::uint32_t> ipv4_at(const char*& at, const char* end);
IpFamily ip_family(std::string_view text);  // as HCCL reads it: inet_pton, "%zone" allowed

// Sets `values[i]` to the member called `names[i]`, for all names in one pass over the object. A
// name that occurs twice is an error: HCCL takes the last member, other readers the first.
void gather(const Value& object, const FieldPath& place, std::span<const std::string_view> names,
            std::span<std::optional<Value>> values, Report& report);

enum class Need : unsigned char { kOptional, kRequired };

struct Field {
  const std::optional<Value>& value;
  const FieldPath& place;
  std::string_view name;
};
// Returns the text of a field that must be a JSON string. An integer is accepted, but reported as
// repaired. A value that is missing or has another type is reported, and nullopt is returned.
std::optional<std::string_view> read_string(const Field& field, Need need, Report& report);
// The limits of a decimal number in a string.
struct Range {
  std::uint32_t low;
  std::uint32_t high;
  std::string_view rule;  // the rule that a number outside these limits breaks
};
std::optional<std::uint32_t> read_number(const Field& field, Need need, const Range& range,
                                         Report& report);
// Returns a list. If it does not exist or is empty, reports that and returns nullopt.
std::optional<Value> read_list(const Field& field, std::string_view rule, std::string_view fix,
                               Report& report);

constexpr std::uint32_t kNone = 0xFFFFFFFF;

// How the address of a device is stored. Nearly all are plain IPv4 addresses, which need less
// memory and compare faster as numbers.
enum class IpKind : unsigned char {
  kAbsent,  // the device has no such key
  kNumber,  // an IPv4 address in its canonical form
  kText,    // any other text, also an empty one; it is stored in Table::addresses
};

// A device. A large table has 800,000 devices, so each byte of this struct takes about a megabyte.
struct Row {
  static constexpr std::uint8_t kNoDevice = 0xFF;

  std::uint32_t ip = 0;     // for kNumber the address, for kText the index in Table::addresses
  std::uint32_t owner = 0;  // index in Table::owners
  std::uint32_t rank = kNone;
  std::uint32_t super_device_id = kNone;
  std::uint16_t position = 0;  // index in the owner's list; the maximum of the type: this or a
                               // later index
  std::uint8_t device_id = kNoDevice;
  IpKind ip_kind = IpKind::kAbsent;

  static std::uint16_t position_of(std::size_t place) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(place, 0xFFFF));
  }
};

struct Owner {  // the list that a device is in: a server of template 1, an instance of template 2
                // and lab
  std::string_view server_id = {};
  std::string_view pod_name = {};
  std::string_view host_ip = {};
  std::string_view container_ip = {};
  std::uint32_t group = 0;
  std::uint32_t position = 0;  // index in the list of its group, or in the list of servers
  std::uint32_t server = 0;  // number of its server, 0 .. Table::servers - 1; equal for owners with
                             // the same server_id
};

// The order of the keys in a template 1 that was scanned. It is the same for all its servers, and
// for all its devices.
struct KeyOrder {
  std::vector<std::string_view> top = {};
  std::vector<std::string_view> server = {};
  std::vector<std::string_view> device = {};
};

// A table as rows. Its texts are views into the input text, or into `store`.
struct Table {
  TableFormat format = TableFormat::kUnknown;
  std::vector<Owner> owners;
  std::vector<Row> rows;  // the devices; those of one owner are adjacent, in the order of the
                          // owners
  std::vector<std::string_view> addresses = {};  // addresses that are not kept as numbers
  // JSON values of owners and rows, from which keys that HCCL does not know are copied. May be
  // empty.
  std::vector<Value> owner_sources = {};
  std::vector<Value> row_sources = {};
  // Only for a table that was scanned: such a table does not need the input text any more.
  KeyOrder keys = {};
  std::unique_ptr<std::pmr::monotonic_buffer_resource> store = {};
  std::uint32_t servers = 0;
  std::uint32_t super_pods = 0;
  bool has_gaps = false;  // an item of a list could not be read, so counts mean nothing

  void set_ip(Row& row, std::string_view text) {
    const auto number = ipv4_number(text);
    row.ip_kind = number ? IpKind::kNumber : IpKind::kText;
    row.ip = number.value_or(static_cast<std::uint32_t>(addresses.size()));
    if (!number) addresses.push_back(text);
  }
  // Returns the address of a row; "" if it has none. An address that is stored as a number is
  // written into `buffer`, and the result is a view of it.
  using IpText = std::array<char, sizeof "255.255.255.255">;
  [[nodiscard]] std::string_view ip(const Row& row, IpText& buffer) const;
  [[nodiscard]] std::string ip(const Row& row) const {
    IpText buffer;
    return std::string(ip(row, buffer));
  }
  [[nodiscard]] bool lacks_ip(const Row& row) const {
    return row.ip_kind == IpKind::kAbsent ||
           (row.ip_kind == IpKind::kText && addresses[row.ip].empty());
  }

  [[nodiscard]] bool is_template1() const {
    return format == TableFormat::kTemplate1 || format == TableFormat::kTemplate1SuperPod;
  }
  [[nodiscard]] std::string_view device_list() const {
    return is_template1() ? "device" : "devices";
  }
  [[nodiscard]] FieldPath place(const Owner& owner) const {
    if (is_template1()) return FieldPath().in("server_list", owner.position);
    return FieldPath().in("group_list", owner.group).in("instance_list", owner.position);
  }
  [[nodiscard]] FieldPath place(const Row& row) const {
    return place(owners[row.owner]).in(device_list(), row.position);
  }
};

// The keys whose values HCCL reads as strings, for each level of template 1.
inline constexpr std::array<std::string_view, 3> kTopStrings = {"status", "version",
                                                                "server_count"};
inline constexpr std::array<std::string_view, 2> kServerStrings = {"server_id", "host_ip"};
inline constexpr std::array<std::string_view, 9> kDeviceStrings = {
    "device_id",        "device_ip",          "rank_id",
    "device_port",      "device_vnic_port",   "host_port",
    "backup_device_ip", "backup_device_port", "super_device_id"};

// The steps of a check. read_*() functions report findings about a single field, check_*()
// functions about several fields together.
Table read_servers(const Value& root, TableFormat format, Report& report);
Table read_groups(const Value& root, TableFormat format, Report& report);
void check_table(const std::optional<Value>& super_pods, Table& table, Report& report);
void check_addresses(const Table& table, Report& report);
void check_hosts(const Table& table, Report& report);

// A table that was read in one pass, without a tree of JSON values. It has no findings of reading.
struct Scanned {
  Table table;
  std::string_view super_pods = {};  // the text of super_pod_list, not checked to be JSON yet
};
// Reads a complete template 1 or 2 in one pass, without a tree of values. Every key must be known
// to HCCL, and in a template 1 all keys must be in one order. Returns nullopt for any other text,
// which may be valid; it is then read through the tree.
std::optional<Scanned> scan_table(std::string_view text);

// Returns the indices of the texts in lexicographic order.
std::vector<std::uint32_t> by_text(std::span<const std::string_view> texts);

// Returns the indices of a template 2's rows in rank order. The order by pod index fails if the
// number of a pod is missing or occurs twice.
std::expected<std::vector<std::uint32_t>, Details> rows_in(RankOrder order, const Table& table);
std::expected<std::vector<std::uint32_t>, Details> pod_index_order(const Table& table);
std::vector<std::uint32_t> server_id_order(const Table& table);
std::optional<std::uint32_t> pod_index(std::string_view pod_name);

// A rank of a rank table of version 2.0.
struct RankListRow {
  std::uint32_t rank = kNone;
  std::uint32_t local_id = kNone;
  std::uint32_t device_id = kNone;
  std::string_view instance;  // net_instance_id at net_layer 0; ranks with the same id share a
                              // scale-up network
};
std::vector<RankListRow> read_rank_list(const Value& root, Report& report);
// Returns the ranks grouped by host. Fails if the table does not show which ranks share a host.
std::expected<std::vector<Node>, Details> rank_list_nodes(std::vector<RankListRow> rows,
                                                          Report& report);

// Returns the nodes of a table whose rows already have their ranks.
std::vector<Node> make_nodes(const Table& table);
std::uint64_t address_digest(const Table& table);  // digest of the devices' addresses in rank
                                                   // order; 0 = no addresses
void write_super_pods(base::json::Writer& out, const Value& list);
// Writes a template 1 unchanged, except that numbers become strings.
void rewrite_template1(const Value& root, TableFormat format, base::json::Writer& out);
void rewrite_scanned(const Value* super_pods, const Table& table, base::json::Writer& out);
// Writes a table that is not a template 1 as template 1. Keys that HCCL does not know come from
// `root`.
void write_template1(const Value* root, const Table& table, base::json::Writer& out);

}  // namespace ranktable
}  // namespace envgen
