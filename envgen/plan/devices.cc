#include "envgen/plan/devices.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::array<DeviceKind, 3> kKinds = {{
    {"nvidia", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"},
    {"cambricon_dev", "MLU_VISIBLE_DEVICES", "CAMBRICON_VISIBLE_DEVICES"},
    {"davinci", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"},
}};

// The names "<prefix><digits>": nvidiactl and davinci_manager are none. By number, because a
// directory lists davinci10 before davinci2.
std::vector<std::string> devices_in(const PathState& dev, std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::string& name : dev.entries) {
    if (name.starts_with(prefix) && is_digits(std::string_view(name).substr(prefix.size()))) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

// "0-3" -> 4; anything else is one device.
int width_of(std::string_view item) {
  std::size_t dash = item.find('-');
  if (dash == std::string_view::npos) return 1;
  const auto first = parse_count<int>(item.substr(0, dash));
  const auto last = parse_count<int>(item.substr(dash + 1));
  if (!first || !last) return 1;  // a UUID
  return *last >= *first && *last - *first < 1024 ? *last - *first + 1 : 1;
}

struct Listed {
  int count = 0;
  bool parts = false;  // of one device each (MIG), so that there may be more than devices
};

// CUDA stops at the first item it cannot use ("-1"); an empty list is none.
Listed listed_devices(std::string_view list) {
  Listed listed;
  while (!list.empty()) {
    const std::string_view item = trimmed(take_part(list, ','));
    if (item.empty() || item.starts_with('-')) break;
    listed.parts = listed.parts || item.starts_with("MIG-");
    listed.count += width_of(item);
  }
  return listed;
}

// A runtime's words say how the devices came, not how many: with CDI they are there although the
// variable is "void".
bool is_list(std::string_view value) {
  return !value.empty() && value != "all" && value != "none" && value != "void";
}

DeviceCount narrowed(const Inputs& inputs, const DeviceKind& kind, DeviceCount count) {
  auto narrow = [&count](std::string_view variable, std::string_view value) {
    Listed listed = listed_devices(value);
    if (listed.count < count.count || listed.parts) {
      count = {listed.count, std::string(variable)};
    }
  };
  std::string_view given = inputs.variable(kind.runtime_variable);
  if (is_list(given)) narrow(kind.runtime_variable, given);
  auto chosen = inputs.env().get(kind.process_variable);
  if (chosen) narrow(kind.process_variable, *chosen);
  return count;
}

}  // namespace

std::span<const DeviceKind> device_kinds() { return kKinds; }

int count_listed(std::string_view list) { return listed_devices(list).count; }

std::optional<DeviceCount> count_devices(Inputs& inputs) {
  const PathState* dev = inputs.content("/dev");
  if (dev == nullptr) return std::nullopt;
  for (const DeviceKind& kind : kKinds) {
    std::vector<std::string> names = devices_in(*dev, kind.prefix);
    if (names.empty()) continue;
    DeviceCount count{static_cast<int>(names.size()), "/dev/" + names[0]};
    if (names.size() > 1) count.source += " and " + std::to_string(names.size() - 1) + " more";
    return narrowed(inputs, kind, std::move(count));
  }
  return DeviceCount{0, "no device in /dev"};
}

std::vector<int> device_numbers(const PathState& dev, std::string_view prefix) {
  const std::vector<std::string> names = devices_in(dev, prefix);
  std::vector<int> numbers;
  numbers.reserve(names.size());
  for (const std::string& name : names) {
    const auto number = parse_count<int>(std::string_view(name).substr(prefix.size()));
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<int> slots_of_node(Inputs& inputs, int told) {
  if (inputs.request().slots) return inputs.request().slots;
  if (told > 0) return told;
  auto count = count_devices(inputs);
  if (!count) return std::nullopt;
  return std::max(1, count->count);
}

}  // namespace envgen
