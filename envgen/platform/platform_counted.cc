// The platforms of envgen/plan/given_names.h.

#include <array>
#include <utility>

#include "envgen/formats/hosts.h"
#include "envgen/plan/given_names.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

bool has(const Inputs& inputs, std::string_view variable) {
  return !variable.empty() && !inputs.variable(variable).empty();
}

std::optional<std::string> detect(const Inputs& inputs, const GivenNames& names) {
  const bool asked = asks_for_ranks(inputs.request()) && !names_nodes(inputs);
  if (!has(inputs, names.own) || (!asked && !names.always)) return std::nullopt;
  const std::string own(names.own);
  if (has(inputs, names.leader) && has(inputs, names.count)) {
    return std::string(names.leader) + ", " + std::string(names.count) + " and " + own + " are set";
  }
  if (!has(inputs, names.hosts)) return std::nullopt;
  return own + " and " + std::string(names.hosts) + " are set";
}

// Names the other pods after the leader.
void name_pods(std::string_view leader, std::vector<Node>& nodes) {
  const std::size_t dot = leader.find('.');
  if (dot == std::string_view::npos || is_loopback(leader)) return;
  // If the leader is an address (of a group whose name is a hash), the other names are not known.
  const std::string label(leader.substr(0, dot));
  const bool named = label.find('-') != std::string::npos;
  for (std::size_t i = 1; i < nodes.size() && named; ++i) {
    nodes[i].host = label + "-" + std::to_string(i) + std::string(leader.substr(dot));
  }
}

base::Result<std::vector<Node>> nodes_of(const Inputs& inputs, const GivenNames& names) {
  TRY_ASSIGN(auto count, number_in(inputs, names.count, {.least = 1}));
  if (!has(inputs, names.hosts)) {
    if (!count) {
      return base::fail("counting the nodes", std::string(names.count), "nothing",
                        "pass it on, or say which node this is with --nodes, --node-rank and "
                        "--master-addr");
    }
    TRY_ASSIGN(auto nodes, nameless_nodes(*count, 0, names.count));
    nodes[0].host = std::string(inputs.variable(names.leader));
    if (names.pods) name_pods(nodes[0].host, nodes);
    return nodes;
  }
  TRY_ASSIGN(auto hosts, parse_host_list(inputs.variable(names.hosts), names.hosts));
  if (count && static_cast<std::size_t>(*count) != hosts.size()) {
    return base::fail("counting the nodes",
                      std::string(names.hosts) + " and " + std::string(names.count),
                      std::to_string(hosts.size()) + " addresses and " + std::to_string(*count),
                      "both come from the platform: was one of them changed by hand?");
  }
  std::vector<Node> nodes(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) nodes[i].host = std::move(hosts[i].host);
  return nodes;
}

Location locate(Inputs& inputs, const GivenNames& names) {
  auto nodes = nodes_of(inputs, names);
  if (!nodes) return nodes.error();
  auto own = number_in(inputs, names.own);
  if (!own) return own.error();
  if (!*own && !inputs.request().node_rank) {
    return base::Error{"finding this node", std::string(names.own), "nothing",
                       "pass it on, or say which node this is with --node-rank"};
  }
  auto slots = names.slots.empty() ? std::nullopt : number_in(inputs, names.slots, kSlots);
  if (!slots) return slots.error();
  GivenMaster master;
  if (!names.leader.empty()) {
    master = {std::string(inputs.variable(names.leader)), std::string(names.leader), 0};
  }
  PlatformFacts platform;
  if (!names.job.empty()) platform.job_id = std::string(inputs.variable(names.job));
  return locate_node(inputs, std::move(*nodes), {own->value_or(0), std::string(names.own)},
                     std::move(master), std::move(platform), slots->value_or(0));
}

template <std::size_t... kRows>
constexpr std::array<Platform, kGivenNames> platforms_of(std::index_sequence<kRows...> /*rows*/) {
  return {{{kGivenRows[kRows].platform,
            [](Inputs& inputs) { return detect(inputs, given_names(kRows)); },
            [](Inputs& inputs) { return locate(inputs, given_names(kRows)); }}...}};
}

}  // namespace

extern constexpr std::array<Platform, kGivenNames> kCountedPlatforms =
    platforms_of(std::make_index_sequence<kGivenNames>());

}  // namespace envgen
