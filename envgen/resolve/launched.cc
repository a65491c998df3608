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

// A variable of a launcher: what stands in front of the words that say what it is, and its value.
struct Told {
  std::string_view name;
  std::string_view launcher;  // "OMPI_COMM_WORLD_"
  int value = 0;
};

constexpr std::array<std::string_view, 5> kLocalRank = {"LOCAL_RANK", "LOCAL_RANKID", "LOCALRANKID",
                                                        "LOCAL_ID", "LOCALID"};
constexpr std::array<std::string_view, 4> kLocalSize = {"LOCAL_SIZE", "LOCAL_WORLD_SIZE",
                                                        "LOCALNRANKS", "LOCAL_NRANKS"};
constexpr std::array<std::string_view, 3> kRank = {"_RANK", "_RANKID", "_PROCID"};
constexpr std::array<std::string_view, 3> kSize = {"_SIZE", "_STEP_NUM_TASKS", "_NTASKS"};
// Process numbers without a size of the same name.
constexpr std::array<std::string_view, 3> kProcessRank = {"PMIX_RANK", "PALS_RANKID",
                                                          "FLUX_TASK_RANK"};

// The variables of such a shape. A value that is no number ("0,1,2,3" of the Ascend operator) is
// none of a process.
std::vector<Told> told_as(const Environ& env, std::span<const std::string_view> shapes) {
  std::vector<Told> all;
  for (const std::string& entry : env.entries()) {
    std::string_view value = entry;
    const std::string_view name = take_part(value, '=');
    const auto fits = [name](std::string_view shape) {
      if (!name.ends_with(shape)) return false;
      const std::size_t before = name.size() - shape.size();
      return before == 0 || shape.front() == '_' || name[before - 1] == '_';
    };
    const auto shape = std::ranges::find_if(shapes, fits);
    if (shape == shapes.end()) continue;
    const auto number = parse_count<int>(trimmed(value));
    if (number) all.push_back({name, name.substr(0, name.size() - shape->size()), *number});
  }
  return all;
}

std::optional<Told> of_same_launcher(const std::vector<Told>& all, const Told& one) {
  const auto found = std::ranges::find(all, one.launcher, &Told::launcher);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

Status started_for_each(std::string where, std::string found) {
  return fail("planning the ranks of this node", std::move(where),
              std::move(found) +
                  ": a launcher has started trainit for each of its processes, and "
                  "each would start all ranks",
              "start trainit once on each node, with --framework mpi where mpirun is to start the "
              "ranks; where each process is a job of its own: --platform local");
}

std::string and_text(const Told& rank, const Told& size) {
  return std::string(rank.name) + " and " + std::string(size.name);
}

std::string of_text(const Told& rank, const Told& size) {
  return std::to_string(rank.value) + " of " + std::to_string(size.value);
}

}  // namespace

Status check_launched_once(const Inputs& inputs, std::size_t node_count) {
  const Request& request = inputs.request();
  if (request.platform == "local" || request.nodes == 1) return {};
  const Environ& env = inputs.env();
  const std::vector<Told> local_sizes = told_as(env, kLocalSize);
  for (const Told& rank : told_as(env, kLocalRank)) {
    const auto size = of_same_launcher(local_sizes, rank);
    if (size && size->value > 1 && rank.value < size->value) {
      return started_for_each(and_text(rank, *size), of_text(rank, *size) + " on this node");
    }
    if (rank.value > 0) {
      return started_for_each(std::string(rank.name), std::to_string(rank.value) + " on this node");
    }
  }
  const auto nodes = static_cast<int>(std::max<std::size_t>(node_count, 1));
  const std::string of_nodes =
      ", for a job of " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  const std::vector<Told> sizes = told_as(env, kSize);
  for (const Told& rank : told_as(env, kRank)) {
    const auto size = of_same_launcher(sizes, rank);
    if (size && size->value > nodes && rank.value < size->value) {
      return started_for_each(and_text(rank, *size), of_text(rank, *size) + of_nodes);
    }
  }
  for (const std::string_view name : kProcessRank) {
    const auto number = parse_count<int>(trimmed(inputs.variable(name)));
    if (number && *number >= nodes) {
      return started_for_each(std::string(name), std::to_string(*number) + of_nodes);
    }
  }
  return {};
}

}  // namespace envgen
