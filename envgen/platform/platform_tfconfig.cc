// A TF_CONFIG that the user set, without a platform. With several tasks it is a cluster for any
// framework that the user asks for. For TensorFlow any TF_CONFIG is accepted. The platform is
// detected only if the user asks for ranks: the TF_CONFIG of a command that is only started belongs
// to that command.

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
  if (!config) return std::nullopt;  // a job of another framework may have any text in it
  std::size_t tasks = 0;
  for (const auto& [role, hosts] : config->cluster) tasks += hosts.size();
  if (tasks < 2) return std::nullopt;
  return "TF_CONFIG lists several tasks";
}

// For TensorFlow a task is one rank. For another framework it is a node with the usual number of
// ranks.
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
