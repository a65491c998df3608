#include "envgen/ranktable/hccn.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "envgen/ranktable/ranktable_impl.h"

namespace envgen {
namespace {

using ranktable::decimal;
using ranktable::ip_family;
using ranktable::IpFamily;
using ranktable::show;

constexpr std::uint32_t kMaxDevice = 63;
constexpr std::string_view kReadingConf = "reading the device addresses";
constexpr std::string_view kReadingTool = "reading the output of hccn_tool";
constexpr std::string_view kReadingList = "reading the device list";

std::optional<int> device_number(std::string_view text) {
  auto number = decimal(text);
  if (!number || *number > kMaxDevice) return std::nullopt;
  return static_cast<int>(*number);
}

struct AddressLine {
  int device;
  IpFamily family;
  std::string_view value;
};

// Reads a line such as "address_3=192.168.1.3". The whole text after '_' must be the number,
// because "address_1" is also the beginning of "address_10".
std::optional<AddressLine> address_line(std::string_view line) {
  std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::string_view key = base::trimmed(line.substr(0, equals));
  IpFamily family = IpFamily::kIpv4;
  if (constexpr std::string_view kV6 = "IPv6address_"; key.starts_with(kV6)) {
    family = IpFamily::kIpv6;
    key.remove_prefix(kV6.size());
  } else if (constexpr std::string_view kV4 = "address_"; key.starts_with(kV4)) {
    key.remove_prefix(kV4.size());
  } else {
    return std::nullopt;
  }
  auto device = device_number(key);
  if (!device) return std::nullopt;
  return AddressLine{
      .device = *device, .family = family, .value = base::trimmed(line.substr(equals + 1))};
}

}  // namespace

base::Result<std::map<int, std::string>> parse_hccn_conf(std::string_view text,
                                                         std::string_view where) {
  std::map<int, std::string> v4;
  std::map<int, std::string> v6;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = address_line(base::take_line(text));
    if (!line) continue;
    auto place = [&] { return std::string(where) + ": line " + std::to_string(number); };
    if (ip_family(line->value) != line->family) {
      return base::fail(
          kReadingConf, place(),
          show(line->value) + " as the address of device " + std::to_string(line->device),
          "write the address that hccn_tool -i " + std::to_string(line->device) +
              " -ip -g prints on the host");
    }
    auto& addresses = line->family == IpFamily::kIpv6 ? v6 : v4;
    auto [entry, is_new] = addresses.try_emplace(line->device, line->value);
    if (!is_new && entry->second != line->value) {
      return base::fail(kReadingConf, place(),
                        show(line->value) + " for device " + std::to_string(line->device) +
                            ", which had " + show(entry->second) + " before",
                        "remove one of the two lines");
    }
  }
  v4.merge(v6);  // if a device has both, the IPv4 address is used
  return v4;
}

base::Result<std::string> parse_hccn_tool(std::string_view output, std::string_view where) {
  constexpr std::string_view kKey = "ipaddr:";
  std::string_view rest = output;
  while (!rest.empty()) {
    std::string_view line = base::trimmed(base::take_line(rest));
    if (!line.starts_with(kKey)) continue;
    std::string_view address = base::trimmed(line.substr(kKey.size()));
    if (ip_family(address) != IpFamily::kNone) return std::string(address);
    return base::fail(kReadingTool, std::string(where), show(address) + " as the address",
                      "configure the device's NIC: hccn_tool -i N -ip -s address A netmask M");
  }
  return base::fail(
      kReadingTool, std::string(where),
      output.empty() ? "no output" : show(base::trimmed(output)) + " and no line \"ipaddr:\"",
      "run it on the host, where the driver is, and check the device's NIC");
}

base::Result<std::vector<int>> parse_device_list(std::string_view text, std::string_view where) {
  auto refuse = [&](std::string found) {
    return base::fail(kReadingList, std::string(where), std::move(found),
                      "write device ids from 0 to 63: \"0,1\", \"0-3,6\" or \"[0,8)\"");
  };
  std::string_view rest = base::trimmed(text);
  std::vector<int> devices;
  auto add_range = [&devices](std::optional<int> first, std::optional<int> last) {
    if (!first || !last || *first > *last) return false;
    for (int device = *first; device <= *last; ++device) devices.push_back(device);
    return true;
  };
  if (rest.starts_with('[')) {
    if (!rest.ends_with(')')) return refuse(show(text) + ", where [ has no )");
    rest = rest.substr(1, rest.size() - 2);
    auto first = device_number(base::trimmed(base::take_part(rest, ',')));
    auto end = decimal(base::trimmed(rest));  // the end of a half-open range may be 64, although no
                                              // device has that id
    if (!first || !end || *end > kMaxDevice + 1 || !add_range(first, static_cast<int>(*end) - 1)) {
      return refuse(show(text));
    }
    return devices;
  }
  if (rest.empty()) return refuse("nothing");
  for (bool more = true; more;) {
    std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;  // "0," has an empty part after the comma
    std::string_view part = base::trimmed(base::take_part(rest, ','));
    std::size_t dash = part.find('-');
    auto first = device_number(base::trimmed(part.substr(0, dash)));
    auto last = dash == std::string_view::npos
                    ? first
                    : device_number(base::trimmed(part.substr(dash + 1)));
    if (!add_range(first, last)) {
      return refuse(show(text));
    }
  }
  std::ranges::sort(devices);
  auto doubles = std::ranges::unique(devices);
  devices.erase(doubles.begin(), doubles.end());
  return devices;
}

std::string generate_rank_table(const std::string& server_id, const std::vector<int>& devices,
                                const std::map<int, std::string>& addresses) {
  base::json::Writer writer;
  writer.begin_object();
  writer.key("version").string("1.0");
  writer.key("server_count").string("1");
  writer.key("server_list").begin_array().begin_object();
  writer.key("server_id").string(server_id);
  writer.key("device").begin_array();
  std::size_t rank = 0;
  for (int device : devices) {
    writer.begin_object();
    writer.key("device_id").string(std::to_string(device));
    if (auto address = addresses.find(device); address != addresses.end()) {
      writer.key("device_ip").string(address->second);
    }
    writer.key("rank_id").string(std::to_string(rank++));
    writer.end_object();
  }
  writer.end_array();
  writer.key("host_nic_ip").string("reserve");
  writer.end_object().end_array();
  writer.key("status").string("completed");
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace envgen
