#include "envgen/resolve/sign_shapes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/formats/nodelist.h"
#include "envgen/platform/cluster_signs.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr int kMaxNodes = 65536;                // a larger number counts something other than nodes
constexpr int kMaxUnconfirmed = 256;            // maximum of an X_NNODES that needs no confirmation
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

constexpr auto kCounts = base::words("NUM", "COUNT", "NUMBER");
constexpr auto kNodes =
    base::words("NODE", "NODES", "HOST", "HOSTS", "MACHINE", "MACHINES", "POD", "PODS");
constexpr auto kWorkers = base::words("WORKER", "WORKERS");
constexpr auto kReplicas = base::words("REPLICA", "REPLICAS", "INSTANCE", "INSTANCES");
constexpr auto kLeaders =
    base::words("MASTER", "LEADER", "CHIEF", "COORDINATOR", "HEAD", "MAIN", "RENDEZVOUS", "RDZV");

constexpr auto kAddresses = base::words("ADDR", "ADDRESS", "IP", "HOST", "HOSTNAME", "ENDPOINT");
constexpr auto kLists =
    base::words("HOSTS", "HOSTLIST", "HOSTNAMES", "NODES", "NODELIST", "WORKERS", "MACHINES",
                "PEERS", "ADDRS", "ADDRESSES", "IPS", "LIST", "ENDPOINTS");
// Words that may be before LIST.
constexpr auto kListed = base::words("NAME", "NAMES", "SERVER", "SERVERS", "PEER", "CLUSTER");

bool counts(std::string_view name, const auto& what) {
  const auto [before, last] = ending_of(name);
  return (is_one_of(before, what) && is_one_of(last, kCounts)) ||
         (is_one_of(before, kCounts) && is_one_of(last, what));
}

// Returns whether the name is X_NNODES or X_NHOSTS. If it does not count the nodes of a job, it can
// only count those of a graph, which are more.
bool says_nodes(std::string_view name) {
  const std::string_view last = ending_of(name).last;
  return last == "NNODES" || last == "NHOSTS";
}

// Returns whether the name counts nodes: NUM_NODES, NODE_COUNT, HOST_NUM, X_NNODES, X_WORLD_SIZE.
bool counts_nodes(std::string_view name) {
  const auto [before, last] = ending_of(name);
  if (last == "SIZE" && before == "WORLD") return !name.ends_with("LOCAL_WORLD_SIZE");
  return says_nodes(name) || name == "NODES" || counts(name, kNodes);
}

// Returns the first word of a name if it is a platform's; "" for NUM_NODES, RANK and MASTER_ADDR.
std::string_view family_of(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('_'));
  const bool of_all = first == name || first == "WORLD" || is_one_of(first, kCounts) ||
                      is_one_of(first, kNodes) || is_one_of(first, kWorkers) ||
                      is_one_of(first, kReplicas) || is_one_of(first, kLeaders);
  return of_all ? std::string_view() : first;
}

// Returns whether the name is X_NODE_RANK or MACHINE_RANK: a value above 0 proves that there are
// other nodes. A name with INDEX is not enough, as it may be that of a shard.
bool ranks_a_node(std::string_view name) {
  const auto [before, last] = ending_of(name);
  return last == "NODERANK" || (is_one_of(before, kNodes) && last == "RANK");
}

// Returns whether the variable is a node's own number among the counted ones.
bool numbers_one(std::string_view name) {
  const auto [before, last] = ending_of(name);
  if (before == "LOCAL") return false;
  static constexpr auto kNumbers = base::words("RANK", "INDEX", "IDX", "ORDINAL", "ID", "NODEID");
  return is_one_of(last, kNumbers);
}

// Returns whether the name is a Kubernetes link to a Service: X_SERVICE_HOST, X_PORT_80_TCP_ADDR.
bool links_a_service(std::string_view name) {
  static constexpr auto kProtocols = base::words("TCP", "UDP", "SCTP");
  const auto [before, last] = ending_of(name);
  if (last == "HOST") return before == "SERVICE";
  return last == "ADDR" && is_one_of(before, kProtocols) && name.contains("_PORT_");
}

// Returns whether the name is a leader's address: MASTER_ADDR, CHIEF_IP, X_MAIN_NODE_HOSTNAME.
bool names_a_leader(std::string_view name) {
  if (!is_one_of(ending_of(name).last, kAddresses) || links_a_service(name)) return false;
  while (!name.empty()) {
    if (is_one_of(base::take_part(name, '_'), kLeaders)) return true;
  }
  return false;
}

// Returns the name before the number, "X_WORKER_", for X_WORKER_0_HOST: the address of the first of
// several. Returns "" for any other name.
std::string_view numbered_stem(std::string_view name, std::string_view number = "0") {
  const auto [before, last] = ending_of(name);
  if (before != number || !is_one_of(last, kAddresses)) return "";
  return name.substr(0, name.size() - last.size() - 1 - before.size());
}

// Returns whether the name lists nodes: NODE_LIST, X_HOSTS, WORKER_ADDRS. Lists of servers for
// proxies and clients are excluded.
bool lists_nodes(std::string_view name) {
  return is_one_of(ending_of(name).last, kLists) && !name.contains("PROXY") &&
         !name.contains("ALLOWED");
}

// Returns whether a list with this name may contain other things than hosts, of which one may by
// chance have the name of this host.
bool lists_anything(std::string_view name) {
  const auto [before, last] = ending_of(name);
  return last == "LIST" && !is_one_of(before, kNodes) && !is_one_of(before, kWorkers) &&
         !is_one_of(before, kReplicas) && !is_one_of(before, kAddresses) &&
         !is_one_of(before, kLists) && !is_one_of(before, kListed);
}

// Returns whether the value is the path of a file of hosts: OAR_NODEFILE, BATCH_HOSTS_FILE,
// PJM_O_NODEINF. The known-hosts files of ssh are excluded, as they list all hosts that a user has
// visited.
bool names_host_file(const EnvEntry& one) {
  static constexpr auto kFiles = base::words("FILE", "LIST", "INF");
  const auto [before, last] = ending_of(one.name);
  std::string name = std::string(before) + std::string(last);
  const auto file = std::ranges::find_if(kFiles, [&](auto word) { return name.ends_with(word); });
  if (file == kFiles.end() || !one.value.starts_with('/') || one.name.contains("KNOWN"))
    return false;
  name.resize(name.size() - std::string_view(*file).size());
  return std::ranges::any_of(kNodes, [&name](auto word) { return name.ends_with(word); });
}

std::optional<int> number_in(std::string_view value) {
  const auto number = base::parse_count<int>(base::trimmed(value));
  return number && *number < kMaxNodes ? number : std::nullopt;
}

// Returns whether another variable confirms that this one counts nodes. NUM_NODES may count the
// nodes of a graph, and NUM_WORKERS those of a data loader. Replicas without a leader may be jobs
// of their own.
bool is_confirmed(const EnvEntry& count, int number, const std::vector<EnvEntry>& all) {
  const bool nodes = counts_nodes(count.name);
  const Ending ending = ending_of(count.name);
  // X_WORKER_NUM is a platform's variable, NUM_WORKERS a library's.
  const bool workers = is_one_of(ending.before, kWorkers) && is_one_of(ending.last, kCounts);
  const bool group = ending.before == "GROUP" && ending.last == "SIZE";
  const std::string_view family = family_of(count.name);
  // X_NUM counts hosts if X_WORKER_0_HOST exists.
  const bool bare = !family.empty() && ending.before == family && is_one_of(ending.last, kCounts);
  if (!nodes && !workers && !group && !bare && !counts(count.name, kReplicas)) return false;
  return std::ranges::any_of(all, [&](const EnvEntry& other) {
    if (family_of(other.name) != family) return false;
    if (bare) return !numbered_stem(other.name).empty() && !is_loopback(other.value);
    if (names_a_leader(other.name)) return !is_loopback(other.value);
    const auto own = number_in(other.value);
    const Ending of = ending_of(other.name);
    const bool exact = !family.empty() || of.last != "ID" || is_one_of(of.before, kNodes) ||
                       (workers && is_one_of(of.before, kWorkers));
    const bool same_kind =
        nodes || (workers && (!family.empty() || is_one_of(of.before, kWorkers)));
    return same_kind && own && *own < number && numbers_one(other.name) && exact;
  });
}

// Returns the host in an item of a list: "a", "a:8", "\"a\"", "[a]:9000".
std::string_view host_of_item(std::string_view item) {
  constexpr std::string_view kAround = "\"'[]() \t";
  const std::size_t first = item.find_first_not_of(kAround);
  if (first == std::string_view::npos) return "";
  item = item.substr(first, item.find_last_not_of(kAround) - first + 1);
  item = item.substr(0, item.find(':'));
  return item.substr(0, item.find_last_not_of(kAround) + 1);
}

// The contents of a list of hosts.
struct Listed {
  bool own = false;      // this machine
  bool another = false;  // another machine
  bool several = false;  // at least two other machines
};

// Reads a list of hosts. A list with a word that could be anything has no hosts, unless the list is
// `sure`. For example, a host may be called "train", but TAGS=train,eval is no list of hosts.
Listed hosts_in(std::string_view value, bool sure, const Inputs& inputs) {
  constexpr std::string_view kOfNumbers = "0123456789";
  constexpr std::string_view kOfHosts =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  Listed listed;
  std::string_view other;
  while (value.size() <= kLongestList && !value.empty()) {
    const std::size_t end = value.find_first_of(", ;\t\n");
    const std::string_view host = host_of_item(value.substr(0, end));
    value.remove_prefix(end == std::string_view::npos ? value.size() : end + 1);
    // A number after a host is its number of slots, and no host.
    if (host.find_first_not_of(kOfNumbers) == std::string_view::npos) continue;
    if (host.find_first_not_of(kOfHosts) != std::string_view::npos || host.starts_with('.')) {
      return {};
    }
    if (is_loopback(host) || (!sure && host.find_first_of(kOfNumbers) == host.npos)) return {};
    Node node;
    node.host = host;
    if (!nodes_like_local({node}, inputs).empty()) {
      listed.own = true;
      continue;
    }
    listed.several = listed.several || (listed.another && host != other);
    listed.another = true;
    other = host;
  }
  return listed;
}

bool lists_this_host(std::string_view value, const Inputs& inputs) {
  std::string expanded;  // the hosts of a compressed item: "n2,n3,n4" for "n[2-4]"
  if (value.size() <= kLongestList && value.contains('[') && !value.starts_with('[')) {
    const auto hosts = expand_nodelist(value, "");
    if (hosts) expanded = base::joined(*hosts, ",");
  }
  const Listed listed = hosts_in(expanded.empty() ? value : expanded, false, inputs);
  return listed.own && listed.another;
}

// Returns the hosts of X_WORKER_0_HOST, X_WORKER_1_HOST, ... as a list: "a,b".
std::string numbered_hosts(const EnvEntry& first, const std::vector<EnvEntry>& all) {
  const std::string_view stem = numbered_stem(first.name);
  std::string list(first.value);
  for (const EnvEntry& other : all) {
    const std::string_view number = ending_of(other.name).before;
    const bool is_next = !stem.empty() && number != "0" && base::parse_count<int>(number) &&
                         numbered_stem(other.name, number) == stem;
    if (is_next) list += "," + std::string(other.value);
  }
  return list;
}

// The hosts in a JSON object of texts "host:port" or "host:port,port", as lists.
struct ObjectHosts {
  std::string all;
  // The hosts in the arrays of one key that lists this machine and another host; "": no such key.
  std::string listed;
};
ObjectHosts hosts_of_object(std::string_view text, const Inputs& inputs) {
  ObjectHosts hosts;
  if (!text.starts_with('{') || text.size() > kLongestList) return hosts;
  std::string below_key;
  int depth = 0;
  int arrays = 0;
  while (!text.empty()) {
    for (const char c : base::take_part(text, '"')) {
      depth += (c == '{' || c == '[' ? 1 : 0) - (c == '}' || c == ']' ? 1 : 0);
      arrays += (c == '[' ? 1 : 0) - (c == ']' ? 1 : 0);
      if (depth > 1 || (c != ',' && c != '}')) continue;
      if (lists_this_host(below_key, inputs)) hosts.listed = below_key;
      below_key.clear();
    }
    std::string_view port = base::take_part(text, '"');
    const std::string host(base::take_part(port, ':'));
    if (port.empty() || port.find_first_not_of("0123456789,") != port.npos) continue;
    hosts.all += host + ",";
    if (arrays > 0) below_key += host + ",";
  }
  return hosts;
}

// Returns the first word of each line: a host, which its number of slots may follow.
std::string hosts_of_lines(std::string_view text) {
  std::string hosts;
  while (!text.empty() && hosts.size() <= kLongestList) {
    std::string_view line = base::take_line(text);
    const std::string_view host = base::take_word(line);
    if (!host.empty() && !host.starts_with('#')) hosts += std::string(host) + ",";
  }
  return hosts;
}

// Checks a batch system's file of hosts. Returns an error if this machine is in it with other
// hosts. Returns a warning if only other hosts are in it, or if the file cannot be read here. A
// large file is taken for data.
base::Result<std::string> check_host_file(const EnvEntry& one, Inputs& inputs) {
  const std::string path(one.value);
  const PathState* file = inputs.kind(path);
  if (file == nullptr || file->kind == PathState::Kind::kDirectory ||
      file->size_bytes > kLongestList) {
    return std::string();
  }
  if (file->kind == PathState::Kind::kFile) file = inputs.content(path);
  if (file == nullptr) return std::string();
  const std::string name(one.name);
  if (file->kind != PathState::Kind::kFile) {
    const std::string why = file->kind == PathState::Kind::kError
                                ? "cannot be read (" + std::string(std::strerror(file->error)) + ")"
                                : "this container does not see";
    return lone_warning(name + " names " + path + ", which " + why + ": it may list several hosts");
  }
  const Listed listed = hosts_in(hosts_of_lines(file->content), true, inputs);
  if (listed.own && listed.another) {
    return std::unexpected(sign_of_several(name, path + " with this host and others"));
  }
  if (!listed.several) return std::string();
  return lone_warning(name + " names " + path +
                      ", which lists several hosts, and this machine is none of them");
}

// Returns the first word of a host name: "job" for "job-worker-0" and "job-0.svc"; "" for an
// address.
std::string_view first_word_of(std::string_view host) {
  return is_address(host) ? std::string_view() : host.substr(0, host.find_first_of("-.:"));
}

// Returns whether a count of replicas may belong to a service of which this machine is a client
// (DB_INSTANCE_COUNT beside DB_MASTER_HOST). A replica is the leader, has a name like the leader's,
// or has a number.
bool may_be_client(const EnvEntry& count, const std::vector<EnvEntry>& all, const Inputs& inputs) {
  const std::string_view family = family_of(count.name);
  if (family.empty() || !counts(count.name, kReplicas)) return false;
  const std::string_view job = first_word_of(inputs.facts().host_name);
  return std::ranges::none_of(all, [&](const EnvEntry& other) {
    if (family_of(other.name) != family) return false;
    if (numbers_one(other.name)) return true;
    const bool leads = names_a_leader(other.name);
    return leads && ((!job.empty() && first_word_of(other.value) == job) ||
                     hosts_in(other.value, true, inputs).own);
  });
}

// Returns whether the first of a platform's nodes is another machine. The sign is a number of this
// machine above 0, in one of two combinations:
// - A node's number (X_NODE_INDEX, X_ROLE_INDEX, X_RANK) beside X_LEADER_ADDR.
// - The platform's number (X_ID) beside X_WORKER_0_HOST.
bool follows_another(const EnvEntry& own, const std::vector<EnvEntry>& all, const Inputs& inputs) {
  static constexpr auto kParts = base::words("ROLE", "TASK");
  const Ending of = ending_of(own.name);
  const std::string_view family = family_of(own.name);
  const bool of_family = of.before == family;
  const bool of_node = (of_family && of.last == "RANK") || is_one_of(of.before, kNodes) ||
                       is_one_of(of.before, kWorkers) || is_one_of(of.before, kReplicas) ||
                       is_one_of(of.before, kParts);
  if (family.empty() || !(of_family || of_node) || !numbers_one(own.name)) return false;
  return std::ranges::any_of(all, [&](const EnvEntry& other) {
    if (family_of(other.name) != family) return false;
    const bool leads = of_node && names_a_leader(other.name);
    if (!leads && numbered_stem(other.name).empty()) return false;
    const Listed leader = hosts_in(other.value, false, inputs);
    return leader.another && !leader.own && !leader.several;
  });
}

// Returns whether X_RANK is above X_LOCAL_RANK, or X_SIZE above X_LOCAL_SIZE. Another node then has
// processes of the job.
bool exceeds_local(const EnvEntry& one, int number, const std::vector<EnvEntry>& all) {
  static constexpr auto kOfProcesses = base::words("RANK", "RANKID", "SIZE");
  const std::string_view last = ending_of(one.name).last;
  if (last.size() == one.name.size() || !is_one_of(last, kOfProcesses)) return false;
  std::string name(one.name);
  name.insert(name.size() - last.size(), "LOCAL_");
  const auto local = std::ranges::find(all, name, &EnvEntry::name);
  const bool numbered = last != "SIZE" || std::ranges::any_of(all, [&one](const EnvEntry& rank) {
                          return rank.name.starts_with(one.name.substr(0, one.name.size() - 4)) &&
                                 ending_of(rank.name).last.starts_with("RANK");
                        });
  return numbered && local != all.end() && number_in(local->value) < number &&
         number_in(local->value);
}

// Returns whether a variable of the family counts one node.
bool is_one_node(std::string_view family, const std::vector<EnvEntry>& all) {
  return std::ranges::any_of(all, [family](const EnvEntry& other) {
    return counts_nodes(other.name) && family_of(other.name) == family &&
           number_in(other.value) == 1;
  });
}

}  // namespace

base::Result<std::string> check_shapes(Inputs& inputs) {
  std::vector<EnvEntry> all;
  for (const std::string& entry : inputs.env().entries()) {
    std::string_view value = entry;
    const std::string_view name = base::take_part(value, '=');
    if (!value.empty()) all.push_back({name, value});
  }
  const auto refuse = [](const EnvEntry& sign) {
    return std::unexpected(sign_of_several(std::string(sign.name), base::quoted(sign.value)));
  };
  std::string warning;
  const auto doubt = [&warning](std::string_view name, std::string_view says) {
    if (warning.empty()) warning = lone_warning(std::string(name) + std::string(says));
  };
  for (const EnvEntry& one : all) {
    if (has_sign_row(one.name)) continue;
    const bool counted_one = is_one_node(family_of(one.name), all);
    if (!counted_one && lists_nodes(one.name) && lists_this_host(one.value, inputs)) {
      if (!lists_anything(one.name)) return refuse(one);
      doubt(one.name, " names this host and others");
    }
    const ObjectHosts object = hosts_of_object(one.value, inputs);
    const std::string hosts =
        numbered_stem(one.name).empty() ? object.listed : numbered_hosts(one, all);
    if (lists_this_host(hosts, inputs)) return refuse({one.name, hosts});
    if (lists_this_host(object.all, inputs)) doubt(one.name, " names this host and others");
    if (names_host_file(one)) {
      TRY_ASSIGN(auto of_file, check_host_file(one, inputs));
      if (warning.empty()) warning = std::move(of_file);
    }
    const auto number = number_in(one.value);
    if (!number || *number == 0 || counted_one) continue;
    if (ranks_a_node(one.name) || exceeds_local(one, *number, all) ||
        follows_another(one, all, inputs) ||
        (*number > 1 && says_nodes(one.name) && *number <= kMaxUnconfirmed)) {
      return refuse(one);
    }
    if (*number < 2 || !is_confirmed(one, *number, all)) continue;
    if (!may_be_client(one, all, inputs)) return refuse(one);
    doubt(one.name, " counts several, and another variable names their first");
  }
  return warning;
}

bool is_counted_one(const Inputs& inputs) {
  return std::ranges::any_of(inputs.env().entries(), [](const std::string& entry) {
    std::string_view value = entry;
    const std::string_view name = base::take_part(value, '=');
    return counts_nodes(name) && number_in(value) == 1;
  });
}

}  // namespace envgen
