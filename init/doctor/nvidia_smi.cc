#include "init/doctor/nvidia_smi.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/xml.h"

namespace doctor {
namespace {

constexpr std::string_view kRoot = "nvidia_smi_log";
constexpr std::size_t kMaxNotes = 8;
constexpr std::size_t kMaxBroken = 4;

// Returns the number in "3" or "19968 MiB", and 0 for "N/A" and any other text.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_told(std::string_view text) {
  return !text.empty() && text != "N/A" && text != "None" && !text.starts_with('[') &&
         !text.starts_with("Requested functionality");
}

bool is_broken(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSigns = {"Unknown Error", "ERR!", "GPU is lost",
                                                      "GPU requires reset"};
  return std::ranges::any_of(
      kSigns, [text](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

// Returns a bus id in the form of sysfs, "0000:0a:00.0" for "00000000:0A:00.0". Azure's virtual
// domains have more than four significant digits, such as "14ed:00:00.0".
std::string sysfs_bus_id(std::string_view id) {
  std::string result = base::lowercased(id);
  constexpr std::size_t kDomain = 4;
  std::size_t colon = result.find(':');
  while (colon != std::string::npos && colon > kDomain && result[0] == '0') {
    result.erase(0, 1);
    --colon;
  }
  return result;
}

void collect_broken(const base::xml::Element& element, std::vector<std::string>& broken) {
  if (broken.size() >= kMaxBroken) return;
  if (is_broken(element.text)) broken.push_back(element.name);
  for (const base::xml::Element& child : element.children) collect_broken(child, broken);
}

// Sums the uncorrectable errors. Drivers use different names: dram_uncorrectable,
// sram_uncorrectable, sram_uncorrectable_parity and _secded, and in older drivers double_bit/total.
std::uint64_t uncorrectable_in(const base::xml::Element& gpu) {
  const base::xml::Element* errors = gpu.child("ecc_errors");
  const base::xml::Element* volatile_ones = errors == nullptr ? nullptr : errors->child("volatile");
  if (volatile_ones == nullptr) return 0;
  std::uint64_t sum = number_of(volatile_ones->text_at("double_bit/total"));
  for (const base::xml::Element& child : volatile_ones->children) {
    if (child.name.find("uncorrectable") != std::string::npos) sum += number_of(child.text);
  }
  return sum;
}

void read_repairs(const base::xml::Element& log, Gpu& gpu) {
  gpu.retired_pages = number_of(log.text_at("retired_pages/double_bit_retirement/retired_count")) +
                      number_of(log.text_at("remapped_rows/remapped_row_unc"));
  for (const char* path : {"retired_pages/pending_retirement", "retired_pages/pending_blacklist",
                           "remapped_rows/remapped_row_pending",
                           "ecc_errors/channel_repair_pending", "ecc_errors/tpc_repair_pending"}) {
    gpu.repair_pending = gpu.repair_pending || log.text_at(path) == "Yes";
  }
  gpu.repair_failed = log.text_at("remapped_rows/remapped_row_failure") == "Yes";
}

// Reads only slowdowns that are harmful. A low clock is normal for an idle card, or for one at its
// power limit.
void read_slowdowns(const base::xml::Element& log, Gpu& gpu) {
  constexpr std::array<std::string_view, 4> kHarmful = {
      "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"};
  // The names since driver 535, then the older ones, which say "throttle" instead of "event".
  for (const auto& [list, prefix] :
       {std::pair{"clocks_event_reasons", "clocks_event_reason_"},
        std::pair{"clocks_throttle_reasons", "clocks_throttle_reason_"}}) {
    for (const std::string_view one : kHarmful) {
      const std::string path = std::string(list) + "/" + prefix + std::string(one);
      if (log.text_at(path) == "Active") gpu.slowdowns.emplace_back(one);
    }
  }
}

void read_links(const base::xml::Element& log, Gpu& gpu) {
  const std::string widths = "pci/pci_gpu_link_info/link_widths/";
  constexpr std::uint64_t kMaxLanes = 64;
  gpu.link_width =
      static_cast<int>(std::min(number_of(log.text_at(widths + "current_link_width")), kMaxLanes));
  gpu.max_link_width =
      static_cast<int>(std::min(number_of(log.text_at(widths + "max_link_width")), kMaxLanes));
  const std::string_view state = log.text_at("fabric/state");
  const std::string_view status = log.text_at("fabric/status");
  if (is_told(state) && state != "Completed") gpu.fabric = state;
  if (state == "Completed" && is_told(status) && status != "Success") gpu.fabric = status;
}

Gpu gpu_of(const base::xml::Element& log) {
  Gpu gpu;
  gpu.bus_id = sysfs_bus_id(log.attribute("id"));
  gpu.name = log.text_at("product_name");
  gpu.uuid = log.text_at("uuid");
  const std::string_view minor = log.text_at("minor_number");
  if (!minor.empty() && minor[0] >= '0' && minor[0] <= '9') {
    gpu.minor = static_cast<int>(std::min<std::uint64_t>(number_of(minor), 1U << 20U));
  }
  gpu.mig = log.text_at("mig_mode/current_mig") == "Enabled";
  if (const base::xml::Element* parts = log.child("mig_devices")) {
    gpu.mig_devices = static_cast<int>(
        std::ranges::count(parts->children, "mig_device", &base::xml::Element::name));
  }
  gpu.uncorrectable = uncorrectable_in(log);
  read_repairs(log, gpu);
  const std::string_view action = log.text_at("gpu_recovery_action");
  if (is_told(action)) gpu.recovery_action = action;
  collect_broken(log, gpu.broken);
  read_slowdowns(log, gpu);
  read_links(log, gpu);
  gpu.ecc_off = log.text_at("ecc_mode/current_ecc") == "Disabled";
  gpu.used_mib = number_of(log.text_at("fb_memory_usage/used"));
  gpu.memory_mib = number_of(log.text_at("fb_memory_usage/total"));
  if (const base::xml::Element* processes = log.child("processes")) {
    for (const base::xml::Element& process : processes->children) {
      const std::uint64_t pid = number_of(process.text_at("pid"));
      if (pid > 0 && pid < 1U << 31U) gpu.pids.push_back(static_cast<int>(pid));
    }
  }
  return gpu;
}

void add_notes(std::string_view text, std::vector<std::string>& notes) {
  while (!text.empty() && notes.size() < kMaxNotes) {
    const std::string_view line = base::trimmed(base::take_line(text));
    if (!line.empty()) notes.emplace_back(line);
  }
}

}  // namespace

base::Result<std::vector<GpuProcess>> parse_compute_apps(std::string_view output,
                                                         std::string_view where) {
  constexpr std::size_t kMaxRows = 4096;
  std::vector<GpuProcess> processes;
  while (!output.empty() && processes.size() < kMaxRows) {
    const std::string_view line = base::trimmed(base::take_line(output));
    if (line.empty() || line.starts_with("No devices were found")) continue;
    std::string_view rest = line;
    const std::string_view bus_id = base::trimmed(base::take_part(rest, ','));
    const std::string_view pid = base::trimmed(base::take_part(rest, ','));
    if (bus_id.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos ||
        !bus_id.contains(':') || pid.empty()) {
      return base::fail("reading what nvidia-smi says", std::string(where), base::quoted(line),
                        "see whether nvidia-smi works on the host");
    }
    processes.push_back({.bus_id = sysfs_bus_id(bus_id),
                         .pid = base::parse_count<int>(pid).value_or(0),
                         .name = std::string(base::trimmed(rest))});
  }
  return processes;
}

base::Result<GpuReport> parse_nvidia_smi(std::string_view output, std::string_view where) {
  constexpr const char* kReading = "reading what nvidia-smi says";
  const std::string opening = "<" + std::string(kRoot) + ">";
  const std::string closing = "</" + std::string(kRoot) + ">";
  const std::size_t root = output.find(opening);
  GpuReport report;
  if (root == std::string_view::npos) {
    add_notes(output, report.notes);
    return base::fail(
        kReading, std::string(where),
        report.notes.empty() ? "nothing" : base::quoted(report.notes[0]),
        "see whether nvidia-smi works on the host; a GPU that is lost needs a reboot");
  }
  const std::size_t declaration = std::min(output.find("<?xml"), root);
  const std::size_t end = output.find(closing, root);
  const std::size_t behind = end == std::string_view::npos ? output.size() : end + closing.size();
  TRY_ASSIGN(auto log, base::xml::parse(output.substr(declaration, behind - declaration), where));
  add_notes(output.substr(0, declaration), report.notes);
  add_notes(output.substr(behind), report.notes);
  report.driver = log.text_at("driver_version");
  report.cuda = log.text_at("cuda_version");
  report.attached =
      static_cast<int>(std::min<std::uint64_t>(number_of(log.text_at("attached_gpus")), 1U << 20U));
  for (const base::xml::Element& child : log.children) {
    if (child.name == "gpu") report.gpus.push_back(gpu_of(child));
  }
  return report;
}

}  // namespace doctor
