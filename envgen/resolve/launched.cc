#include "envgen/resolve/launched.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace envgen {
namespace {

// A variable of a launcher: its name, the part of the name before the words that state the meaning,
// and the value.
struct Given {
  std::string_view name;
  std::string_view launcher;  // "OMPI_COMM_WORLD"
  int value = 0;
};

constexpr std::array<std::string_view, 5> kLocalRank = {"LOCAL_RANK", "LOCAL_RANKID", "LOCALRANKID",
                                                        "LOCAL_ID", "LOCALID"};
constexpr std::array<std::string_view, 4> kLocalSize = {"LOCAL_SIZE", "LOCAL_WORLD_SIZE",
                                                        "LOCALNRANKS", "LOCAL_NRANKS"};
constexpr std::array<std::string_view, 3> kJobRank = {"RANK", "RANKID", "PROCID"};
constexpr std::array<std::string_view, 2> kJobSize = {"SIZE", "STEP_NUM_TASKS"};
// Launchers whose processes may have no number on their node. The numbers of other variables with
// these endings may mean anything (LORA_RANK).
constexpr std::array<std::string_view, 6> kProcessLaunchers = {
    "OMPI_COMM_WORLD", "PMI", "MV2_COMM_WORLD", "JSM_NAMESPACE", "HOROVOD", "SLURM"};
// Numbers of processes without a variable for their count.
constexpr std::array<std::string_view, 3> kProcessRank = {"PMIX_RANK", "PALS_RANKID",
                                                          "FLUX_TASK_RANK"};

// Returns the variables whose names end with a shape. A value that is no number ("0,1,2,3" of the
// Ascend operator) does not belong to a single process.
std::vector<Given> given_as(const base::Environ& env, std::span<const std::string_view> shapes) {
  std::vector<Given> all;
  for (const std::string& entry : env.entries()) {
    std::string_view value = entry;
    const std::string_view name = base::take_part(value, '=');
    const auto fits = [name](std::string_view shape) {
      return name == shape ||
             (name.ends_with(shape) && name[name.size() - shape.size() - 1] == '_');
    };
    const auto shape = std::ranges::find_if(shapes, fits);
    if (shape == shapes.end()) continue;
    const std::size_t before = name.size() - shape->size();
    // a name that consists only of such words is too general
    if (before == 0 && *shape != "LOCAL_RANK" && *shape != "RANK") continue;
    const auto number = base::parse_count<int>(base::trimmed(value));
    if (number) all.push_back({name, name.substr(0, before == 0 ? 0 : before - 1), *number});
  }
  return all;
}

std::optional<Given> of_same_launcher(const std::vector<Given>& all, const Given& one) {
  const auto found = std::ranges::find(all, one.launcher, &Given::launcher);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

base::Status started_for_each(std::string where, std::string found) {
  return base::fail(
      "planning the ranks of this node", std::move(where),
      std::move(found) +
          ": a launcher has started trainit for each of its processes, and "
          "each would start all ranks",
      "start trainit once on each node, with --framework mpi where mpirun is to start the "
      "ranks; where each process is a job of its own: --platform local");
}

std::string and_text(const Given& rank, const Given& size) {
  return std::string(rank.name) + " and " + std::string(size.name);
}

std::string of_text(const Given& rank, const Given& size) {
  return std::to_string(rank.value) + " of " + std::to_string(size.value);
}

}  // namespace

base::Status check_launched_once(const Inputs& inputs, int node_count, int node_rank) {
  if (inputs.request().platform == "local") return {};
  const base::Environ& env = inputs.env();
  const std::vector<Given> local_ranks = given_as(env, kLocalRank);
  const std::vector<Given> local_sizes = given_as(env, kLocalSize);
  const std::vector<Given> ranks = given_as(env, kJobRank);
  const std::vector<Given> sizes = given_as(env, kJobSize);
  // Returns whether the rank is that of a node: the launcher starts one process for each node, of
  // which several may be on one host.
  const auto is_node = [&](const Given& rank) {
    const auto size = of_same_launcher(sizes, rank);
    return size && size->value == node_count && rank.value == node_rank;
  };
  if (node_count > 1 && std::ranges::any_of(ranks, is_node)) return {};
  for (const Given& rank : local_ranks) {
    const auto size = of_same_launcher(local_sizes, rank);
    if (size && size->value > 1 && rank.value < size->value) {
      return started_for_each(and_text(rank, *size), of_text(rank, *size) + " on this node");
    }
    if (rank.value > 0 && of_same_launcher(ranks, rank)) {
      return started_for_each(std::string(rank.name), std::to_string(rank.value) + " on this node");
    }
  }
  const std::string of_nodes =
      ", for a job of " + std::to_string(node_count) + (node_count == 1 ? " node" : " nodes");
  for (const Given& rank : ranks) {
    const auto each = of_same_launcher(local_sizes, rank);
    if (each && each->value == 1) continue;  // a launcher may know more nodes than this list
    const bool known =
        std::ranges::find(kProcessLaunchers, rank.launcher) != kProcessLaunchers.end() ||
        (!rank.launcher.empty() && of_same_launcher(local_ranks, rank));
    const auto size = of_same_launcher(sizes, rank);
    if (known && size && size->value > node_count && rank.value < size->value) {
      return started_for_each(and_text(rank, *size), of_text(rank, *size) + of_nodes);
    }
  }
  for (const std::string_view name : kProcessRank) {
    const auto number = base::parse_count<int>(base::trimmed(inputs.variable(name)));
    if (number && *number >= node_count) {
      return started_for_each(std::string(name), std::to_string(*number) + of_nodes);
    }
  }
  return {};
}

}  // namespace envgen
