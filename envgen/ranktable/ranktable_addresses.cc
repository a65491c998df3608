// HCCL's rules for the addresses of devices and of their hosts.

#include <algorithm>
#include <array>
#include <compare>
#include <memory>

#include "base/text.h"
#include "envgen/ranktable/ranktable_duplicates.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

// An IPv4 address as a number, which is faster to compare than a text. Nearly all devices have one.
struct Numbered {
  std::uint32_t number;
  std::uint32_t index;

  auto operator<=>(const Numbered&) const = default;
};

// Finds duplicates by sorting. In a hash table, the author of a table could choose numbers that
// collide.
void add_duplicates(std::vector<Numbered> items, Duplicates& duplicates) {
  std::ranges::sort(items);
  std::size_t first = 0;
  for (std::size_t at = 1; at < items.size(); ++at) {
    if (items[at].number == items[first].number) {
      duplicates.emplace_back(items[at].index, items[first].index);
    } else {
      first = at;
    }
  }
}

// The set of addresses seen so far, with a bit for each address of their networks. Sorting 800,000
// addresses would take longer than all other checks.
class SeenAddresses {
 public:
  // Adds an address. Returns false if it was added before, or if there are too many networks.
  bool add(std::uint32_t address) {
    std::uint16_t& page = pages_of_[address >> kBits];
    if (page == 0) {
      if (pages_.size() == kMaxPages) return false;
      pages_.push_back(std::make_unique<Page>());
      page = static_cast<std::uint16_t>(pages_.size());
    }
    const std::uint32_t host = address & ((1U << kBits) - 1);
    std::uint64_t& word = (*pages_[page - 1U])[host / 64];
    const std::uint64_t bit = std::uint64_t{1} << host % 64;
    const bool seen = (word & bit) != 0;
    word |= bit;
    return !seen;
  }

 private:
  static constexpr unsigned kBits = 16;
  static constexpr std::size_t kMaxPages = 1024;  // each has 8 kB
  using Page = std::array<std::uint64_t, (1U << kBits) / 64>;
  std::vector<std::uint16_t> pages_of_ = std::vector<std::uint16_t>(1U << (32 - kBits));
  std::vector<std::unique_ptr<Page>> pages_;
};

// Returns true if a large table certainly has only plain addresses, all different. If it returns
// false, the full checks must run.
bool differ_at_a_look(const Table& table) {
  constexpr std::size_t kFewRows = 4096;  // sorting these is faster than touching one page
  if (table.rows.size() < kFewRows) return false;
  SeenAddresses seen;
  return std::ranges::all_of(table.rows, [&seen](const Row& row) {
    return row.ip_kind == IpKind::kNumber && seen.add(row.ip);
  });
}

// Visits the parts between the commas. As in HCCL, a comma at the end adds nothing.
template <class F>
std::size_t each_address(std::string_view list, const F& visit) {
  std::size_t count = 0;
  while (!list.empty()) {
    visit(base::take_part(list, ','));
    ++count;
  }
  return count;
}

// Reports a device without an address. HCCL needs no address inside one server or one super pod,
// nor with the hosts' network.
void check_missing_address(const Table& table, const Row& row, Report& report) {
  const Owner& owner = table.owners[row.owner];
  bool needed = table.servers > 1 && owner.host_ip.empty() && table.super_pods != 1;
  bool key_needed = row.ip_kind == IpKind::kAbsent &&
                    (table.format == TableFormat::kLab ||
                     (table.format == TableFormat::kTemplate2 && table.owners.size() > 1));
  if (!needed && !key_needed) return;
  report.add(needed ? Severity::kRefused : Severity::kRepaired, "device-ip-missing", [&] {
    return Details{
        .place = table.place(row).at("device_ip"),
        .found = row.ip_kind == IpKind::kAbsent ? "no device_ip" : "an empty device_ip",
        .fix = needed ? "with more than one server each device needs its NIC's address (hccn_tool "
                        "-i N -ip -g), or the server a host_ip"
                      : "HCCL wants the key in this template; template 1 does not"};
  });
}

void check_invalid_address(const Table& table, const Row& row, std::string_view address,
                           Report& report) {
  report.add(Severity::kRefused, "device-ip-invalid", [&] {
    return Details{.place = table.place(row).at("device_ip"),
                   .found = show(address) + ", which is no address",
                   .fix = "write the address of the device's NIC: hccn_tool -i " +
                          std::to_string(row.device_id == Row::kNoDevice ? 0 : row.device_id) +
                          " -ip -g prints it on the host"};
  });
}

void check_family(const Table& table, const Row& row, std::string_view address, bool same,
                  Report& report) {
  if (same || table.servers < 2) return;
  report.add(Severity::kRefused, "ip-family", [&] {
    return Details{.place = table.place(row).at("device_ip"),
                   .found = show(address) + ", of another address family than the first",
                   .fix = "use IPv4 for all devices, or IPv6 for all"};
  });
}

void check_address_count(const Table& table, const Row& row, std::size_t count,
                         std::size_t expected, Report& report) {
  if (count > 1 && !table.is_template1()) {
    report.add(Severity::kRepaired, "device-ip-list", [&] {
      return Details{
          .place = table.place(row).at("device_ip"),
          .found = std::to_string(count) + " addresses, of which this template takes one",
          .fix = "convert it to template 1, which takes several"};
    });
  }
  if (count == expected) return;
  report.add(Severity::kRefused, "device-ip-count", [&] {
    return Details{.place = table.place(row).at("device_ip"),
                   .found = std::to_string(count) + " addresses, and the first device has " +
                            std::to_string(expected),
                   .fix = "HCCL wants the same number for each device"};
  });
}

// The addresses that were read so far.
struct Addresses {
  std::vector<Numbered> numbers;
  std::vector<Named> names;  // addresses that are not plain IPv4
  IpFamily family = IpFamily::kNone;
};

std::size_t check_texts(const Table& table, std::uint32_t index, Addresses& all, Report& report) {
  const Row& row = table.rows[index];
  return each_address(table.addresses[row.ip], [&](std::string_view address) {
    const auto number = ipv4_number(address);
    const IpFamily own = number ? IpFamily::kIpv4 : ip_family(address);
    if (own == IpFamily::kNone) return check_invalid_address(table, row, address, report);
    if (number) {
      all.numbers.push_back({.number = *number, .index = index});
    } else {
      all.names.push_back({.text = address, .index = index});
    }
    if (all.family == IpFamily::kNone) all.family = own;
    check_family(table, row, address, own == all.family, report);
  });
}

}  // namespace

void check_addresses(const Table& table, Report& report) {
  if (differ_at_a_look(table)) return;
  Addresses all;
  std::size_t expected = 0;
  for (std::uint32_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    std::size_t count = 0;
    if (table.lacks_ip(row)) {
      check_missing_address(table, row, report);
    } else if (row.ip_kind == IpKind::kText) {
      count = check_texts(table, i, all, report);
    } else {
      count = 1;
      all.numbers.push_back({.number = row.ip, .index = i});
      if (all.family == IpFamily::kNone) all.family = IpFamily::kIpv4;
      if (all.family != IpFamily::kIpv4) check_family(table, row, table.ip(row), false, report);
    }
    count = std::max<std::size_t>(count, 1);  // HCCL treats an invalid address as none
    if (i == 0) expected = count;
    check_address_count(table, row, count, expected, report);
  }
  Duplicates duplicates;
  add_duplicates(std::move(all.numbers), duplicates);
  add_duplicates(std::move(all.names), duplicates);
  report_duplicates(std::move(duplicates), [&](std::uint32_t index, std::uint32_t first) {
    report.add(Severity::kRefused, "device-ip-duplicate", [&] {
      return Details{.place = table.place(table.rows[index]).at("device_ip"),
                     .found = show(table.ip(table.rows[index])) + ", as " +
                              table.place(table.rows[first]).at("device_ip"),
                     .fix = "each device has a NIC of its own: correct the address"};
    });
  });
}

namespace {

// Returns whether HCCL uses the hosts' network. It does if the first device has no address and its
// server has a host_ip, and then requires a host_ip of every server. Conversion may put any server
// first.
bool uses_host_network(const Table& table) {
  if (table.servers < 2) return false;
  auto by_host = [&table](const Row& row) {
    return table.lacks_ip(row) && !table.owners[row.owner].host_ip.empty();
  };
  if (table.is_template1()) return !table.rows.empty() && by_host(table.rows[0]);
  return std::ranges::any_of(table.rows, by_host);
}

}  // namespace

void check_hosts(const Table& table, Report& report) {
  bool by_host = uses_host_network(table);
  IpFamily family = IpFamily::kNone;
  for (const Owner& owner : table.owners) {
    if (by_host && owner.host_ip.empty()) {
      report.add(Severity::kRefused, "host-ip-mixed", [&] {
        return Details{.place = table.place(owner).at("host_ip"),
                       .found = "no host_ip, while the first server has one and no device_ip",
                       .fix = "give every server a host_ip, or every device a device_ip"};
      });
    }
    IpFamily own = owner.host_ip.empty() ? IpFamily::kNone : ip_family(owner.host_ip);
    if (own == IpFamily::kNone) continue;
    if (family == IpFamily::kNone) family = own;
    if (own == family || table.servers < 2) continue;
    report.add(Severity::kRefused, "ip-family", [&] {
      return Details{.place = table.place(owner).at("host_ip"),
                     .found = show(owner.host_ip) + ", of another address family than the first",
                     .fix = "use IPv4 for all servers, or IPv6 for all"};
    });
  }
}

}  // namespace envgen::ranktable
