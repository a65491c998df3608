#include "envgen/formats/tfconfig.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading TF_CONFIG";
constexpr const char* kMaking = "making TF_CONFIG";
constexpr int kMaxPort = 65535;

// Returns true for "host:port". gRPC's server accepts nothing else: "Could not interpret ... as a
// host-port pair".
bool has_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  if (address.find_first_of(" \t\r\n,/") != std::string_view::npos) return false;
  auto port = base::parse_count<int>(address.substr(colon + 1));
  return port && *port <= kMaxPort;
}

// Returns true for a Python dictionary as str() writes it, which users write instead of
// json.dumps().
bool is_python_repr(std::string_view text) {
  const std::size_t brace = text.find('{');
  if (brace == std::string_view::npos) return false;
  const std::size_t next = text.find_first_not_of(" \t\r\n", brace + 1);
  return next != std::string_view::npos && text[next] == '\'';
}

base::Status read_address(const base::json::Value& entry, int index, std::string_view where,
                          std::map<int, std::string>& tasks) {
  if (!entry.is(base::json::Type::kString) || !has_port(entry.text())) {
    return base::fail(kReading, std::string(where),
                      entry.is(base::json::Type::kString)
                          ? base::quoted(entry.text())
                          : std::string(base::json::type_name(entry.type())),
                      "write each task as \"host:port\"");
  }
  if (!tasks.emplace(index, entry.text()).second) {
    return base::fail(kReading, std::string(where), "index " + std::to_string(index) + " twice",
                      "give each task of a role its own index");
  }
  return {};
}

// Reads a list, or Kubeflow's sparse object {"1": "host:port"}. Older TensorFlow accepts only
// lists.
base::Status read_role(const base::json::Value& role, const std::string& where, TfConfig& config) {
  std::map<int, std::string> tasks;
  if (role.is(base::json::Type::kArray)) {
    int index = 0;
    for (const base::json::Value entry : role) {
      TRY(read_address(entry, index++, where, tasks));
    }
  } else if (role.is(base::json::Type::kObject)) {
    config.sparse = true;
    for (const base::json::Value entry : role) {
      auto index = base::parse_count<int>(entry.key());
      if (!index) {
        return base::fail(kReading, where, base::quoted(entry.key()) + " as a task's index",
                          "use the task's number as the key");
      }
      TRY(read_address(entry, *index, where, tasks));
    }
  } else {
    return base::fail(kReading, where, std::string(base::json::type_name(role.type())),
                      "list the tasks: [\"host:port\", ...]");
  }
  config.cluster[std::string(role.key())] = std::move(tasks);
  return {};
}

base::Error without_cluster(const base::json::Value& root, std::string_view where) {
  base::Error error{kReading, std::string(where), "no \"cluster\"",
                    "write {\"cluster\": {...}, \"task\": {\"type\": ..., \"index\": ...}}"};
  if (root.find("sparseCluster")) {
    error.found = "\"sparseCluster\", which TensorFlow does not read";
    error.fix = "call it \"cluster\" (a training-operator release had this name by mistake)";
    return error;
  }
  for (const base::json::Value member : root) {
    if (!member.is(base::json::Type::kArray)) continue;
    error.found =
        "a bare map of roles (" + base::quoted(member.key()) + "), not inside \"cluster\"";
    break;
  }
  return error;
}

base::Status read_task(const base::json::Value& root, std::string_view where, TfConfig& config) {
  const std::string place = std::string(where) + ": task";
  auto task = root.find("task");
  if (!task || !task->is(base::json::Type::kObject)) {
    return base::fail(kReading, place,
                      task ? std::string(base::json::type_name(task->type())) : "no \"task\"",
                      "say which task this is: \"task\": {\"type\": \"worker\", \"index\": 0}");
  }
  auto type = task->find("type");
  if (!type || !type->is(base::json::Type::kString) || type->text().empty()) {
    return base::fail(kReading, place + ".type",
                      type ? std::string(base::json::type_name(type->type())) : "no type",
                      "name the role of this task");
  }
  config.type = type->text();
  auto index = task->find("index");
  // TensorFlow calls int(index), so a string of digits is valid, but 1.5 would silently become 1.
  const bool usable =
      index && (index->is(base::json::Type::kInteger) || index->is(base::json::Type::kString));
  auto number = usable ? base::parse_count<int>(index->text()) : std::nullopt;
  if (!number) {
    std::string found = "no index";
    if (index)
      found = std::string(base::json::type_name(index->type())) + " " + base::quoted(index->text());
    return base::fail(kReading, place + ".index", std::move(found),
                      "write the task's number, from 0");
  }
  config.index = *number;
  config.index_text = index->is(base::json::Type::kString);
  return {};
}

base::Status check_addresses(const TfConfig& config, const char* what, std::string_view where) {
  std::map<std::string_view, std::string> seen;
  for (const auto& [role, tasks] : config.cluster) {
    for (const auto& [index, address] : tasks) {
      std::string name = role + " " + std::to_string(index);
      auto [first, added] = seen.emplace(address, name);
      if (added) continue;
      return base::fail(what, std::string(where),
                        base::quoted(address) + " for both " + first->second + " and " + name,
                        "give each task its own address or port");
    }
  }
  return {};
}

std::size_t tasks_of(const TfConfig& config, const char* role) {
  auto found = config.cluster.find(role);
  return found == config.cluster.end() ? 0 : found->second.size();
}

// Fails on roles that Estimator's run_config.py and distribute's multi_worker_util.py refuse.
base::Status check_roles(const TfConfig& config, const char* what, std::string_view where) {
  if (tasks_of(config, "chief") > 0 && tasks_of(config, "master") > 0) {
    return base::fail(what, std::string(where), "both a chief and a master",
                      "keep one: \"master\" is the old name of the chief");
  }
  for (const char* role : {"chief", "master", "evaluator"}) {
    if (tasks_of(config, role) < 2) continue;
    return base::fail(what, std::string(where),
                      std::to_string(tasks_of(config, role)) + " tasks of role " + role,
                      "TensorFlow takes one; make the others workers");
  }
  return {};
}

base::Status check_task(const TfConfig& config, std::string_view where) {
  auto role = config.cluster.find(config.type);
  const bool evaluator = config.type == "evaluator";
  if (role == config.cluster.end()) {
    if (evaluator) return {};
    std::string roles;
    for (const auto& [name, tasks] : config.cluster) roles += (roles.empty() ? "" : ", ") + name;
    return base::fail(kReading, std::string(where) + ": task.type",
                      base::quoted(config.type) + ", and the cluster has only " + roles,
                      "add the role to the cluster, or correct the task's type");
  }
  // Kubeflow's sparse form for a ps lists only that ps, as the first entry, whatever its index.
  const bool sparse_ps = config.sparse && config.type == "ps" && role->second.size() == 1;
  if (evaluator || sparse_ps || role->second.contains(config.index)) return {};
  return base::fail(kReading, std::string(where) + ": task.index",
                    std::to_string(config.index) + " of " + std::to_string(role->second.size()) +
                        " " + config.type + " tasks",
                    "use an index that the cluster lists; they count from 0");
}

void write_role(base::json::Writer& writer, const std::map<int, std::string>& tasks, bool sparse) {
  const bool gaps = !tasks.empty() && tasks.rbegin()->first != static_cast<int>(tasks.size()) - 1;
  if (!sparse && !gaps) {
    writer.begin_array();
    for (const auto& [index, address] : tasks) writer.string(address);
    writer.end_array();
    return;
  }
  writer.begin_object();
  for (const auto& [index, address] : tasks) writer.key(std::to_string(index)).string(address);
  writer.end_object();
}

std::string address_of(const Node& node) {
  const std::string port = std::to_string(node.port > 0 ? node.port : kTfPort);
  const bool v6 = node.host.find(':') != std::string::npos && !node.host.starts_with('[');
  return (v6 ? "[" + node.host + "]" : node.host) + ":" + port;
}

std::string role_of(const Node& node) { return node.role.empty() ? "worker" : node.role; }

}  // namespace

int tf_ranks(std::string_view role) { return role == "ps" || role == "evaluator" ? 0 : 1; }

base::Result<TfConfig> parse_tf_config(std::string_view text, std::string_view where) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    return base::fail(kReading, std::string(where), "a byte order mark before the JSON",
                      "remove it: Python's json.loads() refuses it");
  }
  auto document = base::json::Document::parse(text, where);
  if (!document) {
    if (is_python_repr(text)) {
      return base::fail(kReading, std::string(where),
                        "a Python dictionary with single quotes, not JSON",
                        "write it with json.dumps(), not with str()");
    }
    base::Error error = document.error().error;
    error.what = kReading;
    return std::unexpected(std::move(error));
  }
  const base::json::Value root = document->root();
  if (!root.is(base::json::Type::kObject)) {
    return base::fail(kReading, std::string(where), std::string(base::json::type_name(root.type())),
                      "write one JSON object");
  }
  TfConfig config;
  if (root.size() == 0) return config;
  auto cluster = root.find("cluster");
  if (!cluster) return std::unexpected(without_cluster(root, where));
  const std::string place = std::string(where) + ": cluster";
  if (!cluster->is(base::json::Type::kObject) || cluster->size() == 0) {
    return base::fail(kReading, place,
                      cluster->is(base::json::Type::kObject)
                          ? "no role"
                          : std::string(base::json::type_name(cluster->type())),
                      "list the tasks of each role: {\"worker\": [\"host:port\"]}");
  }
  for (const base::json::Value role : *cluster) {
    TRY(read_role(role, place + "." + std::string(role.key()), config));
  }
  TRY(read_task(root, where, config));
  auto environment = root.find("environment");
  if (environment && environment->is(base::json::Type::kString))
    config.environment = environment->text();
  for (base::Status status : {check_addresses(config, kReading, place),
                              check_roles(config, kReading, place), check_task(config, where)}) {
    if (!status) return std::unexpected(status.error());
  }
  return config;
}

std::string render_tf_config(const TfConfig& config) {
  base::json::Writer writer(false);
  writer.begin_object();
  if (!config.cluster.empty()) {
    writer.key("cluster").begin_object();
    for (const auto& [role, tasks] : config.cluster) {
      writer.key(role);
      write_role(writer, tasks, config.sparse);
    }
    writer.end_object();
    writer.key("task").begin_object().key("type").string(config.type).key("index");
    if (config.index_text) {
      writer.string(std::to_string(config.index));
    } else {
      writer.integer(config.index);
    }
    writer.end_object();
    if (!config.environment.empty()) writer.key("environment").string(config.environment);
  }
  writer.end_object();
  return std::move(writer).take();
}

base::Result<std::optional<TfConfig>> tf_config_of(const Cluster& cluster, int self,
                                                   bool index_text) {
  if (cluster.nodes.size() < 2) return std::nullopt;
  const Node& own = cluster.nodes[static_cast<std::size_t>(self)];
  TfConfig config{.cluster = {},
                  .type = role_of(own),
                  .index_text = index_text,
                  // Without "environment", old Estimators start no server; Kubeflow sets it too.
                  .environment = "cloud"};
  std::map<std::string, int> next_index;
  int evaluators = 0;
  for (std::size_t rank = 0; rank < cluster.nodes.size(); ++rank) {
    const Node& node = cluster.nodes[rank];
    const std::string role = role_of(node);
    // Workers of a platform without roles are numbered by their node ranks.
    const int index = node.role.empty() ? next_index[role]++ : node.role_index;
    const bool is_self = static_cast<int>(rank) == self;
    if (is_self) config.index = index;
    const std::string place = "node " + std::to_string(rank) + ", " + role;
    if (role == "evaluator" && ++evaluators > 1) {
      return base::fail(kMaking, place, "a second evaluator", "TensorFlow takes one");
    }
    if (role == "evaluator" && !is_self) continue;
    if (node.host.empty()) {
      return base::fail(kMaking, place, "no host name", "name the hosts with --hosts");
    }
    if (!config.cluster[role].emplace(index, address_of(node)).second) {
      return base::fail(kMaking, place,
                        "index " + std::to_string(index) + " of its role a second time",
                        "give each node of a role its own index");
    }
  }
  for (const auto& [role, tasks] : config.cluster) {
    if (role == "evaluator") continue;
    if (tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1) continue;
    return base::fail(kMaking, "role " + role,
                      std::to_string(tasks.size()) + " nodes, one of them with index " +
                          std::to_string(tasks.rbegin()->first),
                      "the indices of a role have to be 0 to n-1: a host is missing");
  }
  TRY(check_addresses(config, kMaking, "the cluster"));
  TRY(check_roles(config, kMaking, "the cluster"));
  return config;
}

}  // namespace envgen
