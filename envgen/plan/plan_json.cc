#include <map>
#include <set>

#include "base/constants/trusted_path.h"
#include "base/json_fields.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "envgen/plan/dataset_json.h"
#include "envgen/plan/observation_json.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/policy_json.h"
#include "envgen/plan/sandbox_json.h"

namespace envgen {

// Members that the JSON shows, in their order.

static void fields(FieldVisitor& v, Device& device) {
  v("rank", device.rank);
  v("device_id", device.physical_id);
}

static void fields(FieldVisitor& v, Node& node) {
  constexpr Rule kOmit{.omit = true};
  v("host", node.host, kOmit);
  v("port", node.port, kOmit);
  v("role", node.role, kOmit);
  v.when(!node.role.empty(), "role_index", node.role_index, kOmit);
  v("slots", node.slots);
  v("pod_name", node.pod_name, kOmit);
  v("server_id", node.server_id, kOmit);
  v("host_ip", node.host_ip, kOmit);
  v("container_ip", node.container_ip, kOmit);
  v("devices", node.devices);
}

static void fields(FieldVisitor& v, PlannedDirectory& directory) {
  v("path", directory.path);
  v("clean", directory.clean);
}

static void fields(FieldVisitor& v, PlannedFile& file) {
  v("path", file.path);
  v("mode", file.mode);
  std::string content = file.content.text();
  v("content", content, {.masked = true});
}

// The part of a link that a plan shows, without the members that only the resolver knows.
struct ShownLink {
  const NodeLink& link;
};
static void fields(FieldVisitor& v, ShownLink& shown) {
  NodeLink link = shown.link;
  v("address", link.address);
  v("port", link.port);
  v("node_rank", link.node_rank);
  v("node_count", link.node_count);
  v("timeout_ms", link.timeout_ms);
  v("secret_file", link.secret_file, {.omit = true});
  std::string word = link.stops ? "stop" : "tell";
  v("on_node_failure", word);
}

static void fields(FieldVisitor& v, DeviceWait::Device& device) {
  v("path", device.path);
  v("bus_id", device.bus_id, {.omit = true});
}

static void fields(FieldVisitor& v, DeviceWait& wait) {
  v("devices", wait.devices);
  v("timeout_ms", wait.timeout_ms);
}

static void fields(FieldVisitor& v, PeerWait& wait) {
  v("peers", wait.hosts);
  v("probe", wait.probe);
  v("timeout_ms", wait.timeout_ms);
}

namespace {

// The effect of a process's edits on `base`: names with final values, and removed names.
struct EnvDelta {
  std::map<std::string, std::string> set;
  std::set<std::string> unset;
};

// Computes the deltas of a plan's processes. The edits that the processes share are applied once.
class Deltas {
 public:
  Deltas(const Plan& plan, const Environ& base) : plan_(plan), base_(base), common_(base) {
    for (const EnvEdit& edit : plan.env) common_.apply(edit);
  }

  EnvDelta of(const Process& process) {
    Environ edited = common_;
    for (const EnvEdit& edit : process.env) edited.apply(edit);
    EnvDelta delta;
    for (const EnvEdit& edit : plan_.env) note(edit.name, edited, delta);
    for (const EnvEdit& edit : process.env) note(edit.name, edited, delta);
    return delta;
  }

 private:
  void note(const std::string& name, const Environ& edited, EnvDelta& delta) {
    auto before = base_.get(name);
    auto after = edited.get(name);
    if (before && !after) delta.unset.insert(name);
    if (!after || before == after) return;
    const std::string& masked = mask_.of(name + "=" + std::string(*after));
    delta.set[name] = masked.substr(name.size() + 1);
  }

  const Plan& plan_;
  const Environ& base_;
  Environ common_;
  EntryMask mask_;
};

void write_cluster(json::Writer& out, const Plan& plan) {
  out.key("cluster");
  if (!plan.cluster) {
    out.null();
  } else {
    out.begin_object();
    out.key("world_size").integer(plan.cluster->world_size);
    out.key("nodes").begin_array();
    for (std::size_t rank = 0; rank < plan.cluster->nodes.size(); ++rank) {
      out.begin_object().key("node_rank").integer(static_cast<std::int64_t>(rank));
      JsonOut v(out);
      visit(v, plan.cluster->nodes[rank]);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.key("self");
  if (!plan.local_node) {
    out.null();
  } else {
    out.begin_object();
    out.key("node_rank").integer(plan.local_node->node_rank);
    out.key("reason").string(plan.local_node->reason);
    out.end_object();
  }
}

void write_hooks(json::Writer& out, const Plan& plan) {
  out.key("hooks").begin_array();
  for (const HookGroup& group : plan.hooks) {
    for (const std::string& path : group.paths) {
      out.begin_object();
      out.key("event").string(name_of(group.event));
      out.key("path").string(path);
      out.key("timeout_ms").integer(group.timeout_ms);
      out.key("fatal").boolean(group.fatal);
      out.end_object();
    }
  }
  out.end_array();
}

void write_process(json::Writer& out, const Process& process, Deltas& deltas) {
  const EnvDelta delta = deltas.of(process);
  out.begin_object();
  out.key("name").string(process.name);
  JsonOut(out).add("argv", masked_arguments(process.argv));
  out.key("cwd").string(process.cwd);
  out.key("env").begin_object();
  for (const auto& [name, value] : delta.set) out.key(name).string(value);
  out.end_object();
  out.key("unset").begin_array();
  for (const std::string& name : delta.unset) out.string(name);
  out.end_array();
  out.key("log").string(process.log);
  if (process.tee) {
    out.key("tee").begin_object();
    out.key("echo").boolean(process.echo);
    out.key("prefix").string(process.prefix);
    out.end_object();
  }
  if (!process.cpus.empty()) {
    out.key("cpus").string(process.cpus);
    out.key("cpus_reason").string(process.cpus_reason);
  }
  out.end_object();
}

void write_processes(json::Writer& out, std::string_view key, const std::vector<Process>& processes,
                     Deltas& deltas) {
  out.key(key).begin_array();
  for (const Process& process : processes) write_process(out, process, deltas);
  out.end_array();
}

void write_waits(json::Writer& out, const Plan& plan) {
  out.key("waits").begin_array();
  for (const Wait& wait : plan.waits) {
    out.begin_object();
    out.key("path").string(wait.path);
    out.key("ready").boolean(wait.why.empty());
    out.key("why").string(wait.why);
    out.key("timeout_ms").integer(wait.timeout_ms);
    out.end_object();
  }
  if (plan.peers) write_json(out, *plan.peers);
  out.end_array();
}

void add_process(ShownLines& lines, const Process& process, Deltas& deltas) {
  const EnvDelta delta = deltas.of(process);
  const std::string device =
      process.device >= 0 ? " (device " + std::to_string(process.device) + ")" : "";
  lines.add({"  ", process.name, device, ": ", joined(masked_arguments(process.argv), " ")});
  const bool both = process.echo && !process.log.empty();
  lines.add({"    in ", process.cwd, ", output to ",
             process.log.empty() ? "stdout and stderr" : std::string_view(process.log),
             both ? " and stdout and stderr" : "", process.tee ? " through the tee" : "",
             process.prefix.empty() ? "" : concat({", lines behind \"", process.prefix, "\""})});
  if (!process.cpus.empty()) {
    lines.add({"    on CPUs ", process.cpus, ": ", process.cpus_reason});
  }
  for (const auto& [name, value] : delta.set) lines.add({"    ", name, "=", value});
  for (const std::string& name : delta.unset) lines.add({"    ", name, " unset"});
}

// Returns the total time of the hooks of `event` within a stop, if it is less than `timeout_ms`.
std::string within_stop_text(const Budget& stop, HookEvent event, std::int64_t timeout_ms) {
  if (event == HookEvent::kPreStop && stop.notify_at < timeout_ms) {
    return ", " + seconds(stop.notify_at) + " within a stop";
  }
  if (event == HookEvent::kPostStop && stop.post_stop_run_ms < timeout_ms) {
    return ", at least " + seconds(stop.post_stop_run_ms) + " within a stop";
  }
  return {};
}

void add_hooks(ShownLines& lines, const Plan& plan) {
  const Budget stop = stop_budget(plan);
  for (const HookGroup& group : plan.hooks) {
    const std::string_view event = name_of(group.event);
    for (const std::string& path : group.paths) {
      const bool is_script = path == group.script;
      lines.add({"hook at ", event, ": ", path, is_script ? " " : "", is_script ? event : "",
                 ", at most ", seconds(group.timeout_ms),
                 within_stop_text(stop, group.event, group.timeout_ms),
                 group.fatal ? "; its failure ends the job" : ""});
    }
  }
  if (plan.hooks.empty()) return;
  if (plan.sandbox.identity && plan.sandbox.identity->uid != 0) {
    lines.add({"hooks have trainit's rights, and PATH=", kTrustedPath});
  } else if (plan.sandbox.capabilities) {
    lines.add({"hooks have trainit's rights, and root's job may change them: use --user as well"});
  }
}

void add_device_wait(ShownLines& lines, const Plan& plan) {
  if (!plan.device_wait) return;
  const auto& devices = plan.device_wait->devices;
  const std::size_t more = devices.size() - 1;
  lines.add({"before a restart waits until nobody holds the devices (", devices[0].path,
             more > 0 ? " and " + std::to_string(more) + " more" : "", "), at most ",
             seconds(plan.device_wait->timeout_ms)});
}

void write_warm(json::Writer& out, const WarmPlan& warm) {
  if (warm.modules.empty()) return;
  out.key("warm").begin_object();
  JsonOut v(out);
  v.add("modules", warm.modules);
  v.add("free", warm.free);
  out.key("cold").string(warm.cold);
  out.end_object();
}

void add_warm(ShownLines& lines, const Plan& plan) {
  if (plan.warm.modules.empty()) return;
  std::string ranks;
  for (std::size_t i = 0; i < plan.warm.processes.size() && i < plan.processes.size(); ++i) {
    if (plan.warm.processes[i].operand < 0) continue;
    ranks += (ranks.empty() ? "" : ", ") + plan.processes[i].name;
  }
  if (ranks.empty()) {
    lines.add({"a restart is a cold one: ", plan.warm.cold});
    return;
  }
  std::string modules = joined(plan.warm.modules, ", ");
  if (modules == kWarmAuto) modules = "what the program imports first";
  lines.add({"keeps a process warm for a restart of each of ", ranks, ", with ", modules});
}

// Adds the platform, this node's place, the waits and the warnings.
void add_place(ShownLines& lines, const Plan& plan) {
  lines.add(
      {"platform ", plan.platform, " (", plan.platform_reason, "), framework ", plan.framework});
  if (plan.local_node) {
    lines.add({"node ", std::to_string(plan.local_node->node_rank), " of ",
               std::to_string(plan.node_count), " (", plan.local_node->reason, "), world size ",
               std::to_string(plan.world_size)});
  }
  for (const Wait& wait : plan.waits) {
    if (wait.why.empty()) {
      lines.add({"waited for ", wait.path, ": it is ready"});
    } else {
      lines.add({"waits for ", wait.path, ", at most ", seconds(wait.timeout_ms), ": ", wait.why});
    }
  }
  for (const std::string& warning : plan.warnings) lines.add({"warning: ", warning});
}

// Adds the preparations before the first process starts.
void add_preparations(ShownLines& lines, const Plan& plan) {
  lines.add(data_text(plan.datasets, plan.data));
  for (const PlannedDirectory& directory : plan.directories) {
    lines.add({"directory ", directory.path, directory.clean ? ", emptied first" : ""});
  }
  for (const PlannedFile& file : plan.files) {
    const auto size = file.content.size();
    lines.add({"writes ", file.path, size ? ", " + std::to_string(*size) + " bytes" : ""});
  }
  const char* no_shell = plan.shell.empty() ? ", but there is no shell" : "";
  for (const std::string& script : plan.leave_scripts) {
    lines.add({"first sources ", script, no_shell});
  }
  for (const std::string& script : plan.scripts) lines.add({"sources ", script, no_shell});
  if (plan.peers) {
    lines.add({"waits for ", std::to_string(plan.peers->hosts.size()), " peers, at most ",
               seconds(plan.peers->timeout_ms)});
  }
  if (plan.observe.preflight != Preflight::kOff) {
    const bool required = plan.observe.preflight == Preflight::kRequire;
    lines.add({"checks the machine first, as trainit doctor does",
               required ? "; a failed check ends the job" : ""});
  }
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Environ& base) {
  json::Writer out;
  JsonOut v(out);
  out.begin_object();
  out.key("platform").string(plan.platform);
  out.key("platform_reason").string(plan.platform_reason);
  out.key("framework").string(plan.framework);
  write_cluster(out, plan);
  v.add("directories", plan.directories);
  v.add("files", plan.files);
  if (!plan.scripts.empty() || !plan.leave_scripts.empty()) {
    out.key("shell").string(plan.shell);
    v.add("leave_scripts", plan.leave_scripts);
    v.add("scripts", plan.scripts);
  }
  Deltas deltas(plan, base);
  write_processes(out, "processes", plan.processes, deltas);
  write_processes(out, "services", plan.services, deltas);
  write_processes(out, "post_stop", plan.post_stop, deltas);
  if (!plan.sandbox.empty()) {
    out.key("sandbox");
    write_sandbox(out, plan.sandbox);
  }
  write_hooks(out, plan);
  write_data(out, plan.datasets, plan.data);
  write_policy(out, plan.policy);
  write_watches(out, plan.observe);
  v.add("device_wait", plan.device_wait, {.omit = true});
  write_warm(out, plan.warm);
  if (plan.link) v.add("link", ShownLink{*plan.link});
  if (plan.free_master_port) out.key("free_master_port").boolean(true);
  if (plan.scheduler) out.key("scheduler_host").string(plan.scheduler->host);
  if (plan.observe.preflight != Preflight::kOff) {
    out.key("preflight").string(word_of(kPreflights, plan.observe.preflight));
  }
  write_waits(out, plan);
  v.add("warnings", plan.warnings, {.masked = true});
  out.end_object();
  return std::move(out).take();
}

ShownLines plan_to_text(const Plan& plan, const Environ& base) {
  ShownLines lines;
  add_place(lines, plan);
  add_preparations(lines, plan);
  lines.add({"starts ", std::to_string(plan.processes.size()),
             plan.processes.size() == 1 ? " process" : " processes"});
  if (!plan.sandbox.empty()) lines.add({"  confined: ", sandbox_text(plan.sandbox)});
  Deltas deltas(plan, base);
  for (const Process& process : plan.processes) add_process(lines, process, deltas);
  if (plan.free_master_port) {
    lines.add(
        {"the port where the ranks meet is one that is free at the start; --master-port names "
         "one"});
  }
  if (plan.scheduler) lines.add({plan.scheduler->host, " becomes an address at the start"});
  for (const Process& process : plan.services) {
    lines.add({"beside them"});
    add_process(lines, process, deltas);
  }
  for (const Process& process : plan.post_stop) {
    lines.add({"afterwards"});
    add_process(lines, process, deltas);
  }
  add_hooks(lines, plan);
  lines.add(policy_text(plan.policy, stop_budget(plan)));
  lines.add(watches_text(plan.observe));
  add_device_wait(lines, plan);
  add_warm(lines, plan);
  if (plan.link) {
    lines.add(
        {"link to node 0 at ", plan.link->address, ":", std::to_string(plan.link->port),
         plan.link->stops ? ": a failure on one node stops all" : ": a failure on one node is told",
         plan.link->secret_file.empty() ? "; " : "; its secret is ",
         plan.link->secret_file.empty() ? kNoSecret : plan.link->secret_file});
  }
  return lines;
}

}  // namespace envgen
