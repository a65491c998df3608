#pragma once
// The inside of ranktable.h, shared by ranktable*.cc only. A table is read into flat rows, one per
// device; checks and conversion work on rows, and make strings only for what they report.

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

using json::Type;
using json::Value;
using Severity = Finding::Severity;

// A place as a reader finds it: "group_list[0].instance_list[2].devices[1]".
class FieldPath {
 public:
  [[nodiscard]] FieldPath in(std::string_view list, std::size_t index) const;
  [[nodiscard]] std::string at(std::string_view field) const;  // "<place>.<field>"

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

// Collects findings. A broken table of 80,000 devices breaks the same rule 80,000 times: of each
// rule the first kMaxPerRule are kept, and the number of the rest.
class Report {
 public:
  static constexpr std::size_t kMaxPerRule = 10;

  // `build` returns the Details; it is called for findings that are kept.
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
  std::map<std::string_view, std::size_t> counts_;  // rules are literals
  bool refused_ = false;
};

// A value for a message: a string in quotes and cut short, a number as it stands, "an array".
std::string show(const Value& value);
std::string show(std::string_view text);

// A string's content; "" for anything else.
std::string_view plain_string(const std::optional<Value>& value);

// A decimal number without sign, blanks or leading zeros.
std::optional<std::uint32_t> decimal(std::string_view text);

enum class IpFamily : unsigned char { kNone, kIpv4, kIpv6 };
// The number of "10.0.0.1", in the one way of writing it.
std::optional<std::uint32_t> ipv4_number(std::string_view text);
// The same of what begins at `at`, which is behind it then.
std::optional<std::uint32_t> ipv4_at(const char*& at, const char* end);
IpFamily ip_family(std::string_view text);  // as HCCL reads it: inet_pton, "%zone" allowed

// Fills `values[i]` with the member called `names[i]`, in one pass. Two members of one name are
// refused: HCCL takes the last, other readers the first.
void gather(const Value& object, const FieldPath& place, std::span<const std::string_view> names,
            std::span<std::optional<Value>> values, Report& report);

enum class Need : unsigned char { kOptional, kRequired };

struct Field {
  const std::optional<Value>& value;
  const FieldPath& place;
  std::string_view name;
};
// The text of a field that must be a JSON string. An integer is taken for it and reported as
// repaired; nothing or another type is reported and nullopt.
std::optional<std::string_view> read_string(const Field& field, Need need, Report& report);
// The same for a decimal number in a string, between `low` and `high`.
struct Range {
  std::uint32_t low;
  std::uint32_t high;
  std::string_view rule;  // of the finding for a number outside
};
std::optional<std::uint32_t> read_number(const Field& field, Need need, const Range& range,
                                         Report& report);
// The elements of a list that must be there and not empty; nullopt is reported.
std::optional<Value> read_list(const Field& field, std::string_view rule, std::string_view fix,
                               Report& report);

constexpr std::uint32_t kNone = 0xFFFFFFFF;

// How a device's address is kept: nearly all are plain IPv4 ones, which are less and compare faster
// as numbers.
enum class IpKind : unsigned char {
  kAbsent,  // no such key
  kNumber,  // an IPv4 address in the one way of writing it
  kText,    // anything else, in Table::addresses; the empty text, too
};

// A device. There are 800,000 of them in a large table: each byte here is a megabyte there.
struct Row {
  static constexpr std::uint8_t kNoDevice = 0xFF;

  std::uint32_t ip = 0;     // kNumber: it; kText: its place in Table::addresses
  std::uint32_t owner = 0;  // in Table::owners
  std::uint32_t rank = kNone;
  std::uint32_t super_device_id = kNone;
  std::uint16_t position = 0;  // in the owner's list; the last one counts for all behind it
  std::uint8_t device_id = kNoDevice;
  IpKind ip_kind = IpKind::kAbsent;

  static std::uint16_t position_of(std::size_t place) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(place, 0xFFFF));
  }
};

struct Owner {  // a server of template 1, an instance of template 2 and lab
  std::string_view server_id = {};
  std::string_view pod_name = {};
  std::string_view host_ip = {};
  std::string_view container_ip = {};
  std::uint32_t group = 0;
  std::uint32_t position = 0;  // in its group's list, or in the list of servers
  std::uint32_t server = 0;    // the same number for the same server_id, 0 .. Table::servers - 1
};

// The keys of a scanned template 1 as it lists them, in each of its servers and devices alike.
struct KeyOrder {
  std::vector<std::string_view> top = {};
  std::vector<std::string_view> server = {};
  std::vector<std::string_view> device = {};
};

// Its texts are views: into what was read, or into `store`.
struct Table {
  TableFormat format = TableFormat::kUnknown;
  std::vector<Owner> owners;
  std::vector<Row> rows;                         // an owner's rows are adjacent, owners in order
  std::vector<std::string_view> addresses = {};  // those that are no numbers
  // Where they stand, for the keys that HCCL does not know; empty when there are none.
  std::vector<Value> owner_sources = {};
  std::vector<Value> row_sources = {};
  // Of a scanned table, which needs its text no more.
  KeyOrder keys = {};
  std::unique_ptr<std::pmr::monotonic_buffer_resource> store = {};
  std::uint32_t servers = 0;
  std::uint32_t super_pods = 0;
  bool has_gaps = false;  // something listed could not be read: counts then mean nothing

  void set_ip(Row& row, std::string_view text) {
    const auto number = ipv4_number(text);
    row.ip_kind = number ? IpKind::kNumber : IpKind::kText;
    row.ip = number.value_or(static_cast<std::uint32_t>(addresses.size()));
    if (!number) addresses.push_back(text);
  }
  // Written into `buffer` where it is a number; "" for none.
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

// Keys that HCCL reads as strings, by level of template 1.
inline constexpr std::array<std::string_view, 3> kTopStrings = {"status", "version",
                                                                "server_count"};
inline constexpr std::array<std::string_view, 2> kServerStrings = {"server_id", "host_ip"};
inline constexpr std::array<std::string_view, 9> kDeviceStrings = {
    "device_id",        "device_ip",          "rank_id",
    "device_port",      "device_vnic_port",   "host_port",
    "backup_device_ip", "backup_device_port", "super_device_id"};

// Reading reports what concerns one field; checking what concerns several.
Table read_servers(const Value& root, TableFormat format, Report& report);
Table read_groups(const Value& root, TableFormat format, Report& report);
void check_table(const std::optional<Value>& super_pods, Table& table, Report& report);
void check_addresses(const Table& table, Report& report);
void check_hosts(const Table& table, Report& report);

// A table of which reading has nothing to report, without a tree of its values.
struct Scanned {
  Table table;
  std::string_view super_pods = {};  // in the text: super_pod_list, not yet known to be JSON
};
// A complete template 1 or 2 of the keys that HCCL knows, in a template 1 always in one order.
// Nothing for any other text, which may be as good: it is read by its tree.
std::optional<Scanned> scan_table(std::string_view text);

// The indices of texts in the order of these.
std::vector<std::uint32_t> by_text(std::span<const std::string_view> texts);

// Rows in rank order. Fails where a pod's number is not told or told twice.
std::expected<std::vector<std::uint32_t>, Details> pod_index_order(const Table& table);
std::vector<std::uint32_t> server_id_order(const Table& table);
std::optional<std::uint32_t> pod_index(std::string_view pod_name);

// Version 2.0.
struct RankListRow {
  std::uint32_t rank = kNone;
  std::uint32_t local_id = kNone;
  std::uint32_t device_id = kNone;
  std::string_view instance;  // net_instance_id of net_layer 0: what shares a scale-up network
};
std::vector<RankListRow> read_rank_list(const Value& root, Report& report);
// Groups ranks into hosts. Fails where the table does not tell them apart.
std::expected<std::vector<Node>, Details> rank_list_nodes(std::vector<RankListRow> rows,
                                                          Report& report);

// Rows have their ranks.
std::vector<Node> make_nodes(const Table& table);
std::uint64_t address_digest(const Table& table);  // in rank order; 0 where none is told
void write_super_pods(json::Writer& out, const Value& list);
// A template 1 is written as it stands, but for its numbers.
void rewrite_template1(const Value& root, TableFormat format, json::Writer& out);
void rewrite_scanned(const Value* super_pods, const Table& table, json::Writer& out);
// One of the others as template 1. `root`: for the keys that HCCL does not know.
void write_template1(const Value* root, const Table& table, json::Writer& out);

}  // namespace ranktable
}  // namespace envgen
