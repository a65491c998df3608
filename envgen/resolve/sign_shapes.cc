#include "envgen/resolve/sign_shapes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/platform/cluster_signs.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr int kMostNodes = 65536;               // a larger number counts something else
constexpr std::size_t kLongestList = 1U << 20;  // bytes

struct EnvEntry {
  std::string_view name;
  std::string_view value;
};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

// The last two words of a name: "NUM", "NODES" of AWS_BATCH_JOB_NUM_NODES.
struct Ending {
  std::string_view before;
  std::string_view last;
};
Ending ending_of(std::string_view name) {
  const std::size_t last = name.rfind('_');
  if (last == std::string_view::npos) return {"", name};
  const std::string_view rest = name.substr(0, last);
  return {rest.substr(rest.rfind('_') + 1), name.substr(last + 1)};
}

constexpr auto kCounts = words("NUM", "COUNT", "NUMBER");
constexpr auto kNodes = words("NODE", "NODES", "HOST", "HOSTS", "MACHINE", "MACHINES");
constexpr auto kWorkers = words("WORKER", "WORKERS");
constexpr auto kReplicas = words("REPLICA", "REPLICAS", "INSTANCE", "INSTANCES");
constexpr auto kLeaders =
    words("MASTER", "LEADER", "CHIEF", "COORDINATOR", "HEAD", "MAIN", "RENDEZVOUS", "RDZV");

bool counts(std::string_view name, const auto& what) {
  const auto [before, last] = ending_of(name);
  return (is_one_of(before, what) && is_one_of(last, kCounts)) ||
         (is_one_of(before, kCounts) && is_one_of(last, what));
}

// NUM_NODES, NODE_COUNT, HOST_NUM, X_NNODES, X_WORLD_SIZE.
bool counts_nodes(std::string_view name) {
  const auto [before, last] = ending_of(name);
  if (last == "SIZE" && before == "WORLD") return !name.ends_with("LOCAL_WORLD_SIZE");
  return last == "NNODES" || last == "NHOSTS" || name == "NODES" || counts(name, kNodes);
}

// The first word, where it is a platform's; "" of NUM_NODES, RANK and MASTER_ADDR.
std::string_view family_of(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('_'));
  const bool of_all = first == name || first == "WORLD" || is_one_of(first, kCounts) ||
                      is_one_of(first, kNodes) || is_one_of(first, kWorkers) ||
                      is_one_of(first, kReplicas) || is_one_of(first, kLeaders);
  return of_all ? std::string_view() : first;
}

// X_NODE_RANK: where a number above 0 says that there are others. An index may be a shard's.
bool ranks_a_node(std::string_view name) {
  const auto [before, last] = ending_of(name);
  return last == "NODERANK" || (before == "NODE" && last == "RANK");
}

// A node's own number among those that are counted.
bool numbers_one(std::string_view name) {
  const auto [before, last] = ending_of(name);
  if (before == "LOCAL") return false;
  return last == "RANK" || last == "INDEX" || last == "ID" || last == "NODEID";
}

// MASTER_ADDR, CHIEF_IP, X_MAIN_NODE_HOSTNAME. Kubernetes names each service X_SERVICE_HOST.
bool names_a_leader(std::string_view name) {
  static constexpr auto kAddresses = words("ADDR", "ADDRESS", "IP", "HOST", "HOSTNAME", "ENDPOINT");
  if (!is_one_of(ending_of(name).last, kAddresses) || name.ends_with("_SERVICE_HOST")) return false;
  while (!name.empty()) {
    if (is_one_of(take_part(name, '_'), kLeaders)) return true;
  }
  return false;
}

// NODE_LIST, X_HOSTS, WORKER_ADDRS. Proxies and clients list servers.
bool lists_nodes(std::string_view name) {
  static constexpr auto kLists =
      words("HOSTS", "HOSTLIST", "HOSTNAMES", "NODES", "NODELIST", "WORKERS", "MACHINES", "PEERS",
            "ADDRS", "ADDRESSES", "IPS", "LIST", "ENDPOINTS");
  return is_one_of(ending_of(name).last, kLists) && !name.contains("PROXY") &&
         !name.contains("ALLOWED");
}

std::optional<int> number_in(std::string_view value) {
  const auto number = parse_count<int>(trimmed(value));
  return number && *number < kMostNodes ? number : std::nullopt;
}

// Whether another variable confirms what a name and a number may mean: NUM_NODES is a graph's, too,
// and NUM_WORKERS a data loader's. Replicas without a leader may be jobs of their own.
bool is_confirmed(const EnvEntry& count, int number, const std::vector<EnvEntry>& all) {
  const bool nodes = counts_nodes(count.name);
  const Ending ending = ending_of(count.name);
  // X_WORKER_NUM is a platform's, NUM_WORKERS a library's.
  const bool workers = is_one_of(ending.before, kWorkers) && is_one_of(ending.last, kCounts);
  const bool group = ending.before == "GROUP" && ending.last == "SIZE";
  if (!nodes && !workers && !group && !counts(count.name, kReplicas)) return false;
  const std::string_view family = family_of(count.name);
  return std::ranges::any_of(all, [&](const EnvEntry& other) {
    if (family_of(other.name) != family) return false;
    if (names_a_leader(other.name)) return !is_loopback(other.value);
    const auto own = number_in(other.value);
    const Ending of = ending_of(other.name);
    const bool exact = !family.empty() || of.last != "ID" || is_one_of(of.before, kNodes);
    const bool same_kind =
        nodes || (workers && (!family.empty() || is_one_of(of.before, kWorkers)));
    return same_kind && own && *own < number && numbers_one(other.name) && exact;
  });
}

// The host of one item of a list: "a", "a:8", "\"a\"", "[a]:9000".
std::string_view host_of_item(std::string_view item) {
  constexpr std::string_view kAround = "\"'[]() \t";
  const std::size_t first = item.find_first_not_of(kAround);
  if (first == std::string_view::npos) return "";
  item = item.substr(first, item.find_last_not_of(kAround) - first + 1);
  item = item.substr(0, item.find(':'));
  return item.substr(0, item.find_last_not_of(kAround) + 1);
}

// Whether these are hosts, one of them this machine and at least one another. A word that could be
// anything is no name of a machine: a host called "train", and TAGS=train,eval.
bool lists_this_host(std::string_view value, const Inputs& inputs) {
  if (value.size() > kLongestList || value.find_first_of(", ;\n") == std::string_view::npos) {
    return false;
  }
  bool own = false;
  bool another = false;
  while (!value.empty()) {
    const std::size_t end = value.find_first_of(", ;\t\n");
    const std::string_view host = host_of_item(value.substr(0, end));
    value.remove_prefix(end == std::string_view::npos ? value.size() : end + 1);
    if (host.empty()) continue;
    constexpr std::string_view kOfHosts =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    if (host.find_first_not_of(kOfHosts) != std::string_view::npos || host.starts_with('.')) {
      return false;
    }
    if (host.find_first_not_of("0123456789") == std::string_view::npos) return false;
    if (is_loopback(host) || host.find_first_of("0123456789") == host.npos) {
      return false;
    }
    Node node;
    node.host = host;
    (nodes_like_local({node}, inputs).empty() ? another : own) = true;
  }
  return own && another;
}

// A count of one says so.
bool is_one_node(std::string_view family, const std::vector<EnvEntry>& all) {
  return std::ranges::any_of(all, [family](const EnvEntry& other) {
    return counts_nodes(other.name) && family_of(other.name) == family &&
           number_in(other.value) == 1;
  });
}

}  // namespace

Status check_shapes(const Inputs& inputs) {
  std::vector<EnvEntry> all;
  for (const std::string& entry : inputs.env().entries()) {
    std::string_view value = entry;
    const std::string_view name = take_part(value, '=');
    if (!value.empty()) all.push_back({name, value});
  }
  const auto refuse = [](const EnvEntry& sign) {
    return std::unexpected(sign_of_several(std::string(sign.name), quoted(sign.value)));
  };
  for (const EnvEntry& one : all) {
    if (has_sign_row(one.name)) continue;
    if (lists_nodes(one.name) && lists_this_host(one.value, inputs)) return refuse(one);
    const auto number = number_in(one.value);
    if (!number || *number == 0 || is_one_node(family_of(one.name), all)) continue;
    if (ranks_a_node(one.name) || (*number > 1 && is_confirmed(one, *number, all))) {
      return refuse(one);
    }
  }
  return {};
}

bool is_counted_one(const Inputs& inputs) {
  return std::ranges::any_of(inputs.env().entries(), [](const std::string& entry) {
    std::string_view value = entry;
    const std::string_view name = take_part(value, '=');
    return counts_nodes(name) && number_in(value) == 1;
  });
}

}  // namespace envgen
