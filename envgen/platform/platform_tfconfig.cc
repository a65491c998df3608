// A TF_CONFIG that nobody but the user has set. With several tasks it is a cluster by itself, for
// whatever framework was asked for; TensorFlow is given any. Seen only where ranks were asked for:
// the TF_CONFIG of a command that is only started is its own.

#include "envgen/formats/tfconfig.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

std::optional<std::string> detect_tfconfig(Inputs& inputs) {
  const std::string_view text = inputs.variable("TF_CONFIG");
  if (text.empty() || !asks_for_ranks(inputs.request()) || names_nodes(inputs)) return std::nullopt;
  if (inputs.request().framework == "tensorflow") return "TF_CONFIG is set";
  const auto config = parse_tf_config(text, "TF_CONFIG");
  if (!config) return std::nullopt;  // another framework's job may have any text there
  std::size_t tasks = 0;
  for (const auto& [role, hosts] : config->cluster) tasks += hosts.size();
  if (tasks < 2) return std::nullopt;
  return "TF_CONFIG lists several tasks";
}

// A task is one rank of TensorFlow's; to another framework it is a node, with as many as any has.
Location locate_tfconfig(Inputs& inputs) {
  Location location = locate_by_tf_config(inputs, PlatformFacts{});
  auto* resolved = std::get_if<ResolvedCluster>(&location);
  const std::string& framework = inputs.request().framework;
  if (resolved == nullptr || framework.empty() || framework == "tensorflow") return location;
  const auto slots = slots_of_node(inputs, 0);
  if (!slots) return NeedsPaths{};
  resolved->cluster.world_size = 0;
  for (Node& node : resolved->cluster.nodes) {
    if (node.slots > 0) node.slots = *slots;
    resolved->cluster.world_size += node.slots;
  }
  return location;
}

}  // namespace

extern const Platform kTfConfigPlatform = {"tfconfig", detect_tfconfig, locate_tfconfig};

}  // namespace envgen
