// Any text as hccn.conf, as hccn_tool's output and as a device list; what is read becomes a table
// that check() accepts.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "envgen/ranktable/hccn.h"
#include "envgen/ranktable/ranktable.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_generated(const std::map<int, std::string>& addresses) {
  std::vector<int> devices;
  std::set<std::string> distinct;
  for (const auto& [device, address] : addresses) {
    // Beyond what a table may hold, and one address on two devices, is for check() to refuse.
    if (device > 15 || !distinct.insert(address).second) return;
    devices.push_back(device);
  }
  if (devices.empty()) return;
  auto table = envgen::RankTable::parse(envgen::generate_rank_table("server", devices, addresses),
                                        "generated");
  require(table.has_value() && table->check().empty());
  require(std::move(*table).rank(envgen::RankOrder::kServerId).has_value());
}

}  // namespace

TRAINIT_FUZZER(hccn) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto addresses = envgen::parse_hccn_conf(text, "fuzz")) check_generated(*addresses);
  if (auto address = envgen::parse_hccn_tool(text, "fuzz")) require(!address->empty());
  auto devices = envgen::parse_device_list(text, "fuzz");
  if (!devices) return 0;
  require(!devices->empty() && devices->front() >= 0 && devices->back() <= 63);
  for (std::size_t i = 1; i < devices->size(); ++i) require((*devices)[i - 1] < (*devices)[i]);
  return 0;
}
