// Determined. Each container of a trial has a file before its command starts, with the addresses of
// all containers in rank order. An example: {"container_addrs": ["10.0.0.1", "10.0.0.2"],
// "container_rank": 0, "container_slot_counts": [8, 8]}. Determined's other tasks (notebooks,
// commands) have one container and no such file. Source: RendezvousInfo and ClusterInfo of
// determined-ai/determined, harness/determined/_info.py.

#include "base/json.h"
#include "base/text.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading Determined's containers";
constexpr const char* kRendezvous = "/run/determined/info/rendezvous.json";

// Detected only if the user asks for ranks: Determined's own entrypoint writes the file, and a
// command that is only started may run before that.
std::optional<std::string> detect_determined(Inputs& inputs) {
  if (!asks_for_ranks(inputs.request()) || names_nodes(inputs)) return std::nullopt;
  if (inputs.variable("DET_ALLOCATION_ID").empty() || inputs.variable("DET_TASK_TYPE") != "TRIAL") {
    return std::nullopt;
  }
  return "DET_ALLOCATION_ID is set, and DET_TASK_TYPE is TRIAL";
}

struct Rendezvous {
  std::vector<Node> nodes;
  int rank = 0;
};

std::unexpected<base::Error> bad_file(std::string found) {
  return base::fail(
      kReading, kRendezvous, std::move(found),
      "Determined writes container_addrs, container_rank and container_slot_counts into it "
      "before a trial's command starts; where this is none: --platform local");
}

// Returns the nodes. `counts` are the slots of each container; a container without a GPU runs as
// many ranks as --slots.
base::Result<std::vector<Node>> nodes_of(const base::json::Value& addresses,
                                         const base::json::Value& counts) {
  std::vector<Node> nodes;
  for (const base::json::Value address : addresses) {
    if (address.text().empty()) return bad_file("an empty address");
    Node node;
    node.host = std::string(address.text());
    nodes.push_back(std::move(node));
  }
  std::size_t place = 0;
  for (const base::json::Value count : counts) {
    const auto slots = count.integer();
    if (!slots || *slots < 0 || *slots > kMaxSlots || place >= nodes.size()) {
      return bad_file(base::quoted(count.text()) + " slots of container " + std::to_string(place));
    }
    nodes[place++].slots = static_cast<int>(*slots);
  }
  if (nodes.empty() || place != nodes.size()) {
    return bad_file(std::to_string(nodes.size()) + " addresses and " + std::to_string(place) +
                    " numbers of slots");
  }
  return nodes;
}

base::Result<Rendezvous> rendezvous_of(const PathState& file) {
  if (file.kind != PathState::Kind::kFile) return bad_file("no file");
  auto document = base::json::Document::parse(file.content, kRendezvous);
  if (!document) return std::unexpected(document.error().error);
  const base::json::Value root = document->root();
  if (!root.is(base::json::Type::kObject))
    return bad_file(std::string(base::json::type_name(root.type())));
  const auto addresses = root.find("container_addrs");
  const auto counts = root.find("container_slot_counts");
  const auto own = root.find("container_rank");
  const auto rank = own ? own->integer() : std::nullopt;
  if (!addresses || !counts || !rank) return bad_file("not all three");
  Rendezvous rendezvous;
  TRY_ASSIGN(rendezvous.nodes, nodes_of(*addresses, *counts));
  if (*rank < 0 || *rank >= static_cast<std::int64_t>(rendezvous.nodes.size())) {
    return bad_file("container_rank " + std::to_string(*rank) + " of " +
                    std::to_string(rendezvous.nodes.size()));
  }
  rendezvous.rank = static_cast<int>(*rank);
  return rendezvous;
}

Location locate_determined(Inputs& inputs) {
  const PathState* file = inputs.content(kRendezvous);
  if (file == nullptr) return NeedsPaths{};
  auto rendezvous = rendezvous_of(*file);
  if (!rendezvous) return rendezvous.error();
  if (inputs.request().slots) {
    for (Node& node : rendezvous->nodes) node.slots = 0;
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("DET_ALLOCATION_ID"));
  return locate_node(inputs, std::move(rendezvous->nodes), {rendezvous->rank, "container_rank"}, {},
                     std::move(platform), 0);
}

}  // namespace

extern const Platform kDeterminedPlatform = {"determined", detect_determined, locate_determined};

}  // namespace envgen
