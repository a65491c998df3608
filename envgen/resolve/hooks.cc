#include "envgen/resolve/hooks.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/constants/words.h"
#include "envgen/formats/tfconfig.h"
#include "envgen/resolve/restart_policy.h"

namespace envgen {
namespace {

constexpr const char* kFinding = "finding the hooks";
constexpr std::int64_t kUsualMs = 10LL * 60 * 1000;
constexpr std::int64_t kFailureMs = 60LL * 1000;

constexpr auto kEvents = std::to_array(
    {HookEvent::kPreStart, HookEvent::kPostStart, HookEvent::kPreStop, HookEvent::kPostStop,
     HookEvent::kCheckpoint, HookEvent::kOnFailure, HookEvent::kStall, HookEvent::kHealth});

std::string directory_name(HookEvent event) { return std::string(name_of(event)) + ".d"; }

// Path of each hook, by its file name.
using Found = std::map<std::string, std::string>;

struct Root {
  std::string path;
  const PathState* state = nullptr;  // state of a directory
};

void warn_of_odd_directories(const Root& root, Plan& plan) {
  for (const std::string& name : root.state->entries) {
    const bool known = std::ranges::any_of(
        kEvents, [&name](HookEvent event) { return name == directory_name(event); });
    if (known || !name.ends_with(".d") || is_passed_over(name)) continue;
    std::string names;
    for (const HookEvent event : kEvents) {
      names += (names.empty() ? "" : ", ") + directory_name(event);
    }
    plan.warnings.push_back(root.path + "/" + name + " is not used: hooks lie in " + names);
  }
}

// Returns the state of a directory; nullptr if it is none. With `told`, the user has named it, so a
// missing one causes a warning.
const PathState* look_into(Inputs& inputs, const std::string& path, bool told, Plan& plan) {
  const PathState* state = inputs.content(path);
  if (state == nullptr || state->kind == PathState::Kind::kDirectory) return state;
  const bool absent = state->kind == PathState::Kind::kAbsent;
  if (absent && !told) return nullptr;
  plan.warnings.push_back(
      "no hooks of " + path +
      " run: " + (absent ? "it is not there" : "it is no directory that this user can read") +
      (told ? "; see --hooks-dir" : ""));
  return nullptr;
}

// Adds an entry of an event's directory. An entry that cannot run still replaces a hook of the same
// name.
void add_entry(Inputs& inputs, const std::string& name, const std::string& path, Found& found,
               Plan& plan) {
  const PathState* state = inputs.kind(path);
  if (state == nullptr || state->kind == PathState::Kind::kDirectory) return;
  found.erase(name);
  if (state->null_device) return;
  if (state->kind != PathState::Kind::kFile) {
    plan.warnings.push_back("the hook " + path + " does not run: " +
                            (state->kind == PathState::Kind::kAbsent ? "the link leads nowhere"
                                                                     : "it is no readable file"));
  } else if (!state->executable) {
    plan.warnings.push_back("the hook " + path +
                            " does not run: it has no run bit (chmod +x it, or give its volume "
                            "defaultMode 0755), or its file system is mounted noexec");
  } else {
    found[name] = path;
  }
}

void add_directory(Inputs& inputs, const Root& root, HookEvent event, Found& found, Plan& plan) {
  const std::vector<std::string>& names = root.state->entries;
  if (std::ranges::find(names, directory_name(event)) == names.end()) return;
  const std::string path = root.path + "/" + directory_name(event);
  const PathState* state = look_into(inputs, path, false, plan);
  if (state == nullptr) return;
  for (const std::string& name : state->entries) {
    if (!is_passed_over(name)) add_entry(inputs, name, path + "/" + name, found, plan);
  }
}

// Returns the script's path. Returns "" if none is requested, or while the snapshot lacks the path.
base::Result<std::string> lifecycle_script(Inputs& inputs) {
  const std::string& named = inputs.request().lifecycle_script;
  if (named.empty()) return std::string();
  std::string path = join_path(inputs.facts().cwd, named);
  const PathState* state = inputs.kind(path);
  if (state == nullptr) return std::string();
  const char* found = nullptr;
  if (state->kind == PathState::Kind::kAbsent) {
    found = "nothing there";
  } else if (state->kind != PathState::Kind::kFile) {
    found = "no regular file";
  } else if (!state->executable) {
    found = "a file that this user cannot run";
  }
  if (found == nullptr) return path;
  return base::fail(
      kFinding, "--lifecycle-script " + path, found,
      "name a script with a run bit (chmod +x), which is called with the event's name");
}

// Returns the time limit of a hook. A stop may shorten it further.
std::int64_t time_of(HookEvent event, const Request& request, const base::Policy& policy) {
  const auto& asked = request.hook_timeouts.at(static_cast<std::size_t>(event));
  if (asked) return *asked;
  switch (event) {
    case HookEvent::kCheckpoint:
      return policy.checkpoint_ms;
    case HookEvent::kOnFailure:
    case HookEvent::kStall:
    case HookEvent::kHealth:
      return kFailureMs;
    case HookEvent::kPreStart:
    case HookEvent::kPostStart:
    case HookEvent::kPreStop:
    case HookEvent::kPostStop:
      break;
  }
  return kUsualMs;
}

base::Status check_count(HookEvent event, std::size_t count) {
  if (count <= kMaxHooks) return {};
  return base::fail(kFinding, directory_name(event), std::to_string(count) + " hooks",
                    "at most " + std::to_string(kMaxHooks) + " run at one event");
}

void add_group(const Request& request, HookGroup group, Plan& plan) {
  const HookEvent event = group.event;
  group.timeout_ms = time_of(event, request, plan.policy);
  group.fatal = request.fatal_hooks
                    ? std::ranges::find(*request.fatal_hooks, event) != request.fatal_hooks->end()
                    : event == HookEvent::kPreStart;
  plan.hooks.push_back(std::move(group));
}

// Returns every node's host, separated by commas; "" if a host is not known.
std::string hosts_of(const Cluster& cluster) {
  std::string list;
  for (const Node& node : cluster.nodes) {
    if (node.host.empty()) return {};
    list += (list.empty() ? "" : ",") + node.host;
  }
  return list;
}

int local_world_size(const ResolvedCluster& resolved, const Plan& plan) {
  const std::vector<Node>& nodes = resolved.cluster.nodes;
  if (nodes.empty()) return plan.world_size;
  const Node& own = nodes[static_cast<std::size_t>(resolved.local_node.node_rank)];
  return own.slots > 0 ? own.slots : static_cast<int>(own.devices.size());
}

}  // namespace

bool is_passed_over(std::string_view name) {
  static constexpr auto kEndings =
      base::words("~", ".bak", ".orig", ".rej", ".swp", ".md", ".txt", ".pyc");
  if (name.starts_with('.')) return true;
  if (std::ranges::any_of(kEndings, [name](auto ending) { return name.ends_with(ending); })) {
    return true;
  }
  const std::string_view ending = name.substr(std::min(name.rfind('.'), name.size()));
  return ending.starts_with(".dpkg-") || ending.starts_with(".rpm");
}

base::Status find_hooks(Inputs& inputs, Plan& plan) {
  const Request& request = inputs.request();
  std::vector<Root> roots = {{kHooksDirectory}};
  const std::string own = join_path(inputs.facts().cwd, request.hooks_dir);
  if (!request.hooks_dir.empty() && own != kHooksDirectory) roots.push_back({own});
  for (Root& root : roots) {
    root.state = look_into(inputs, root.path, root.path != kHooksDirectory, plan);
    if (root.state != nullptr) warn_of_odd_directories(root, plan);
  }
  TRY_ASSIGN(auto script, lifecycle_script(inputs));
  for (const HookEvent event : kEvents) {
    Found found;
    for (const Root& root : roots) {
      if (root.state != nullptr) add_directory(inputs, root, event, found, plan);
    }
    TRY(check_count(event, found.size()));
    HookGroup group;
    group.event = event;
    for (auto& [name, path] : found) group.paths.push_back(std::move(path));
    if (is_phase_event(event) && !script.empty()) {
      group.script = script;
      group.paths.push_back(script);
    }
    if (!group.paths.empty()) add_group(request, std::move(group), plan);
  }
  return {};
}

void add_hook_environment(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  // Without hooks, the variables are set only if the health monitor's checks need them.
  if (plan.hooks.empty() && plan.observe.health_checks.empty()) return;
  const Cluster& cluster = resolved.cluster;
  auto set = [&plan](const char* name, std::string value) {
    plan.hook_env.push_back({base::EnvEdit::Kind::kSet, name, std::move(value)});
  };
  auto set_known = [&set](const char* name, std::string value) {
    if (!value.empty()) set(name, std::move(value));
  };
  const bool alone = cluster.nodes.empty();
  set("TRAINIT_PLATFORM", plan.platform);
  set("TRAINIT_FRAMEWORK", plan.framework);
  set("TRAINIT_NODE_RANK", std::to_string(resolved.local_node.node_rank));
  set("TRAINIT_NODE_COUNT", std::to_string(alone ? 1 : cluster.nodes.size()));
  set("TRAINIT_WORLD_SIZE", std::to_string(alone ? plan.world_size : cluster.world_size));
  set("TRAINIT_LOCAL_WORLD_SIZE", std::to_string(local_world_size(resolved, plan)));
  const RendezvousAddress master = rendezvous_address(inputs.request(), resolved);
  set_known("TRAINIT_MASTER_ADDR", master.address);
  if (master.port_given) set("TRAINIT_MASTER_PORT", std::to_string(master.port));
  std::string hosts = hosts_of(cluster);
  constexpr const char* kHosts = "TRAINIT_HOSTS";
  if (hosts.size() + std::string_view(kHosts).size() + 2 > kMaxVariableBytes) {
    plan.warnings.push_back("the hooks get no TRAINIT_HOSTS: the " +
                            std::to_string(cluster.nodes.size()) +
                            " hosts are more than the kernel takes in one variable");
    hosts.clear();
  }
  set_known(kHosts, std::move(hosts));
  set_known("TRAINIT_LOG_DIR", resolved.platform.log_dir);
  set_known("TRAINIT_RUN_DIR", inputs.facts().run_dir);
}

}  // namespace envgen
