// SkyPilot: the addresses of all nodes in the order of their ranks, a line each, this node's rank,
// and the GPUs of each. Source: "SkyPilot environment variables" in its documents
// (docs/source/running-jobs/environment-variables.rst), "Environment variables for run".

#include "envgen/formats/hosts.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/told_ranks.h"

namespace envgen {
namespace {

std::optional<std::string> detect_skypilot(Inputs& inputs) {
  if (inputs.variable("SKYPILOT_NODE_IPS").empty()) return std::nullopt;
  if (inputs.variable("SKYPILOT_NODE_RANK").empty()) return std::nullopt;
  return "SKYPILOT_NODE_RANK and SKYPILOT_NODE_IPS are set";
}

Location locate_skypilot(Inputs& inputs) {
  auto hosts = parse_host_list(inputs.variable("SKYPILOT_NODE_IPS"), "SKYPILOT_NODE_IPS");
  if (!hosts) return hosts.error();
  auto count = number_in(inputs, "SKYPILOT_NUM_NODES", {.least = 1});
  if (!count) return count.error();
  if (*count && static_cast<std::size_t>(**count) != hosts->size()) {
    return Error{"counting the nodes", "SKYPILOT_NODE_IPS and SKYPILOT_NUM_NODES",
                 std::to_string(hosts->size()) + " addresses and " + std::to_string(**count),
                 "both come from SkyPilot: was one of them changed by hand?"};
  }
  auto rank = number_in(inputs, "SKYPILOT_NODE_RANK");
  if (!rank) return rank.error();
  if (!*rank && !inputs.request().node_rank) {
    return Error{"finding this node", "SKYPILOT_NODE_RANK", "nothing",
                 "pass it on, or say which node this is with --node-rank"};
  }
  auto gpus = number_in(inputs, "SKYPILOT_NUM_GPUS_PER_NODE", kSlots);
  if (!gpus) return gpus.error();
  std::vector<Node> nodes;
  for (HostPort& host : *hosts) {
    Node node;
    node.host = std::move(host.host);
    nodes.push_back(std::move(node));
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("SKYPILOT_TASK_ID"));
  return locate_node(inputs, std::move(nodes), {rank->value_or(0), "SKYPILOT_NODE_RANK"}, {},
                     std::move(platform), gpus->value_or(0));
}

}  // namespace

extern const Platform kSkyPilotPlatform = {"skypilot", detect_skypilot, locate_skypilot};

}  // namespace envgen
