// Any other cluster: MASTER_ADDR, and numbers that users write into a job's variables.
// NODE_RANK counts nodes (torchrun's flags, PyTorch Lightning). NNODES is the number of nodes, or
// NUM_NODES if NODE_RANK is set (RunPod's "Configuration reference" of Instant Clusters). RANK and
// WORLD_SIZE count processes in PyTorch (torch.distributed's
// "Environment variable initialization"). On several platforms they count nodes (PAI-DLC, Volcano's
// pytorch plugin).
// One of these facts decides the meaning, otherwise the user must state it:
// - LOCAL_RANK or LOCAL_WORLD_SIZE, which only a process has.
// - One rank per node.
// - A launcher in the user's command, which is started once on a node.
// The platform is detected only if the user asks for ranks: the variables of a command that is only
// started belong to that command.

#include <algorithm>

#include "base/text.h"
#include "envgen/plan/devices.h"
#include "envgen/plan/launch.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading RANK and WORLD_SIZE";

// Returns the variable with the number of nodes. NUM_NODES alone may count the nodes of a graph.
Variable node_count(const Inputs& inputs) {
  if (inputs.variable("NODE_RANK").empty()) return first_set(inputs, {"NNODES"});
  return first_set(inputs, {"NNODES", "NUM_NODES"});
}

// Returns whether a count of nodes may be above one: "2", or a range ("1:2"), whose maximum counts.
bool is_several(std::string_view count) { return !count.empty() && count != "1" && count != "0"; }

std::optional<std::string> detect_env(Inputs& inputs) {
  if (!asks_for_ranks(inputs.request()) || names_nodes(inputs)) return std::nullopt;
  auto has = [&inputs](std::string_view name) { return !inputs.variable(name).empty(); };
  if (!has("MASTER_ADDR") && inputs.request().master_addr.empty()) return std::nullopt;
  const Variable nodes = node_count(inputs);
  if (is_several(nodes.value) && has("NODE_RANK")) {
    return std::string(nodes.name) + ", NODE_RANK and the master's address are set";
  }
  if (is_several(inputs.variable("WORLD_SIZE")) && has("RANK")) {
    return "RANK, WORLD_SIZE and the master's address are set";
  }
  return std::nullopt;
}

// The values of the variables that are set.
struct Told {
  std::optional<int> rank;
  std::optional<int> world;
  std::optional<int> nodes;
  std::optional<int> node_rank;
  std::optional<int> local_rank;
  std::optional<int> local_world;
};

base::Result<Told> told_by(const Inputs& inputs) {
  Told told;
  TRY_ASSIGN(told.rank, number_in(inputs, "RANK"));
  TRY_ASSIGN(told.world, number_in(inputs, "WORLD_SIZE", {.least = 1}));
  TRY_ASSIGN(told.nodes, number_in(inputs, node_count(inputs).name, {.least = 1}));
  TRY_ASSIGN(told.node_rank, number_in(inputs, "NODE_RANK"));
  TRY_ASSIGN(told.local_rank, number_in(inputs, "LOCAL_RANK"));
  TRY_ASSIGN(told.local_world,
             number_in(inputs, "LOCAL_WORLD_SIZE", {.least = 1, .most = kMaxSlots}));
  if (!told.nodes) told.nodes = inputs.request().nodes;
  return told;
}

// Returns what RANK and WORLD_SIZE count; nullopt if that is not clear. `slots` is the number of
// ranks of a node, as far as it is known here.
std::optional<RankMeans> meaning_of(const Inputs& inputs, const Told& told, int slots) {
  const Request& request = inputs.request();
  if (request.rank_means) return request.rank_means;
  if (told.local_rank || told.local_world) return RankMeans::kProcess;
  if (told.nodes && told.node_rank) return RankMeans::kNode;
  if (told.nodes && told.nodes == told.world) return RankMeans::kNode;
  if (!inputs.command().framework().empty()) return RankMeans::kNode;
  if (slots == 1 || (!told.rank && !told.world)) return RankMeans::kNode;
  return std::nullopt;
}

base::Error missing(const char* variable) {
  return {"finding this node", variable, "nothing",
          std::string("set ") + variable +
              ", or say which of how many nodes this is with --nodes and --node-rank"};
}

// Checks that RANK fits NODE_RANK: it is the node's number, or the rank of one of the node's `each`
// processes (0 = not known). Any other RANK belongs to another job or another node.
base::Status check_rank(const Inputs& inputs, const Told& told, int each) {
  if (!told.rank || !told.node_rank || inputs.request().node_rank) return {};
  const int rank = *told.rank;
  const bool alone = told.nodes == 1 && rank > 0 && !told.local_rank;
  const bool fits = each > 0 ? rank / each == *told.node_rank : rank >= *told.node_rank;
  if (rank == *told.node_rank || (fits && !alone)) return {};
  return base::fail(
      "finding this node", "NODE_RANK and RANK",
      std::to_string(*told.node_rank) + " and " + std::to_string(rank),
      "unset the one that is not of this job, or say which node this is with --node-rank");
}

// Locates this container as a node. WORLD_SIZE may count the processes of the nodes that NNODES or
// NUM_NODES counts, and must then be a multiple.
Location locate_as_node(Inputs& inputs, const Told& told, GivenMaster master) {
  const bool numbered = told.node_rank || inputs.request().node_rank;
  const bool by_nodes = told.nodes ? numbered || !told.rank : told.node_rank && !told.world;
  const auto& count = by_nodes ? told.nodes : told.world;
  const auto& rank = by_nodes ? told.node_rank : told.rank;
  if (!count) return missing(by_nodes ? "NNODES" : "WORLD_SIZE");
  if (!rank && !inputs.request().node_rank) return missing(by_nodes ? "NODE_RANK" : "RANK");
  const std::string_view counts = by_nodes ? node_count(inputs).name : "WORLD_SIZE";
  int given_slots = 0;
  if (by_nodes && told.world && *told.world != *count) {
    auto each = node_count_of({"WORLD_SIZE", *told.world}, {counts, *count});
    if (!each) return each.error();
    given_slots = *each;
  }
  if (by_nodes) {
    const int each = told.world ? std::max(1, given_slots) : 0;
    if (auto status = check_rank(inputs, told, each); !status) return status.error();
  }
  auto nodes = nameless_nodes(*count, 0, counts);
  if (!nodes) return nodes.error();
  return locate_node(inputs, std::move(*nodes), {rank.value_or(0), by_nodes ? "NODE_RANK" : "RANK"},
                     std::move(master), PlatformFacts{}, given_slots);
}

Location locate_as_process(const Inputs& inputs, const Told& told, int slots, GivenMaster master) {
  if (!told.world) return missing("WORLD_SIZE");
  if (!told.rank) return missing("RANK");
  const int each = told.local_world.value_or(slots);
  GivenTask task{.rank = *told.rank,
                 .world = *told.world,
                 .local_rank = told.local_rank.value_or(*told.rank % each),
                 .each = each,
                 .source = "RANK"};
  return locate_task(inputs, task, std::move(master), PlatformFacts{});
}

Location locate_env(Inputs& inputs) {
  auto told = told_by(inputs);
  if (!told) return told.error();
  auto master = given_master(inputs);
  if (!master) return master.error();
  const bool by_nodes = told->nodes && told->node_rank && told->world.value_or(0) > *told->nodes;
  const int each = by_nodes ? *told->world / *told->nodes : 0;
  auto slots = slots_of_node(inputs, told->local_world.value_or(each));
  if (!slots) return NeedsPaths{};
  const auto meaning = meaning_of(inputs, *told, *slots);
  if (!meaning) {
    auto text = [&inputs](const char* name) { return base::quoted(inputs.variable(name)); };
    return base::Error{
        kReading, "RANK and WORLD_SIZE",
        text("RANK") + " and " + text("WORLD_SIZE") + ", with " + std::to_string(*slots) +
            " ranks on a node: they may count nodes or processes",
        "say which with --rank-means node or --rank-means process; --platform local for a "
        "job of this node alone"};
  }
  if (*meaning == RankMeans::kNode) return locate_as_node(inputs, *told, std::move(*master));
  return locate_as_process(inputs, *told, *slots, std::move(*master));
}

}  // namespace

extern const Platform kEnvPlatform = {"env", detect_env, locate_env};

}  // namespace envgen
