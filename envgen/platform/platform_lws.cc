// LeaderWorkerSet on Kubernetes: each group of pods is a job. Its webhook gives each container the
// leader's address ("NAME-GROUP.SUBDOMAIN.NAMESPACE"), the group's size and this pod's index, which
// is 0 for the leader. The workers' pods are called NAME-GROUP-INDEX. Source: AddLWSVariables in
// kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go.

#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/told_ranks.h"

namespace envgen {
namespace {

std::optional<std::string> detect_lws(Inputs& inputs) {
  for (const char* name : {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}) {
    if (inputs.variable(name).empty()) return std::nullopt;
  }
  return "LWS_LEADER_ADDRESS, LWS_GROUP_SIZE and LWS_WORKER_INDEX are set";
}

// The others' names follow from the leader's.
void name_nodes(std::string_view leader, std::vector<Node>& nodes) {
  nodes[0].host = std::string(leader);
  const std::size_t dot = leader.find('.');
  if (dot == std::string_view::npos || is_loopback(leader)) return;
  // An address (of a group that is known by a hash) has no label that ends with the group's number.
  const std::string label(leader.substr(0, dot));
  const bool named = label.find('-') != std::string::npos;
  for (std::size_t i = 1; i < nodes.size() && named; ++i) {
    nodes[i].host = label + "-" + std::to_string(i) + std::string(leader.substr(dot));
  }
}

Location locate_lws(Inputs& inputs) {
  auto size = number_in(inputs, "LWS_GROUP_SIZE", {.least = 1});
  if (!size) return size.error();
  auto index = number_in(inputs, "LWS_WORKER_INDEX");
  if (!index) return index.error();
  if (!*size || !*index) {
    return Error{"finding this node", *size ? "LWS_WORKER_INDEX" : "LWS_GROUP_SIZE", "nothing",
                 "LeaderWorkerSet sets it in each container: was it unset on the way?"};
  }
  auto nodes = nameless_nodes(**size, 0, "LWS_GROUP_SIZE");
  if (!nodes) return nodes.error();
  const std::string leader(inputs.variable("LWS_LEADER_ADDRESS"));
  name_nodes(leader, *nodes);
  return locate_node(inputs, std::move(*nodes), {**index, "LWS_WORKER_INDEX"},
                     {leader, "LWS_LEADER_ADDRESS", 0}, PlatformFacts{}, 0);
}

}  // namespace

extern const Platform kLwsPlatform = {"lws", detect_lws, locate_lws};

}  // namespace envgen
