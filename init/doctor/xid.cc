#include "init/doctor/xid.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printed_text.h"
#include "base/text.h"

namespace doctor {
namespace {

constexpr std::string_view kSign = "NVRM: Xid (PCI:";
constexpr std::size_t kLongestText = 200;

}  // namespace

std::vector<Xid> find_xids(std::string_view kernel_log) {
  std::vector<Xid> found;
  while (!kernel_log.empty()) {
    std::string_view line = base::take_line(kernel_log);
    const std::size_t at = line.find(kSign);
    if (at == std::string_view::npos) continue;
    line.remove_prefix(at + kSign.size());
    const std::size_t close = line.find("): ");
    if (close == std::string_view::npos) continue;
    Xid xid{.device = base::escaped_text(line.substr(0, close))};
    line.remove_prefix(close + 3);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), xid.code);
    if (error != std::errc()) continue;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.starts_with(", ")) line.remove_prefix(2);
    xid.text = base::escaped_text(line.substr(0, kLongestText));
    std::erase_if(found, [&xid](const Xid& other) {
      return other.device == xid.device && other.code == xid.code;
    });
    found.push_back(std::move(xid));
  }
  return found;
}

bool is_of_hardware(int code) {
  // Codes of hardware faults. Memory: 48, 63, 64, 94, 95, 140. Processors: 62, 109, 110, 119, 120,
  // 143. NVLink: 74, 137, 149. Off the bus: 79. Many corrected errors: 92. Clocks: 61. Recovery
  // required: 154.
  constexpr std::array<int, 18> kHardware = {48, 61,  62,  63,  64,  74,  79,  92,  94,
                                             95, 109, 110, 119, 120, 137, 140, 149, 154};
  return std::ranges::find(kHardware, code) != kHardware.end();
}

}  // namespace doctor
