#include "base/json_fields.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "envgen/plan/dataset_json.h"
#include "envgen/plan/env_delta.h"
#include "envgen/plan/observation_json.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/policy_json.h"
#include "envgen/plan/sandbox_json.h"

namespace envgen {

// Members that the JSON shows, in their order.

static void fields(base::FieldVisitor& v, Device& device) {
  v("rank", device.rank);
  v("device_id", device.physical_id);
}

static void fields(base::FieldVisitor& v, Node& node) {
  constexpr base::Rule kOmit{.omit = true};
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

static void fields(base::FieldVisitor& v, PlannedDirectory& directory) {
  v("path", directory.path);
  v("clean", directory.clean);
}

static void fields(base::FieldVisitor& v, PlannedFile& file) {
  v("path", file.path);
  v("mode", file.mode);
  std::string content = file.content.text();
  v("content", content, {.masked = true});
}

// The members of a link that a plan shows. Those that only the resolver uses are left out.
struct ShownLink {
  const NodeLink& link;
};
static void fields(base::FieldVisitor& v, ShownLink& shown) {
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

static void fields(base::FieldVisitor& v, DeviceWait::Device& device) {
  v("path", device.path);
  v("bus_id", device.bus_id, {.omit = true});
}

static void fields(base::FieldVisitor& v, DeviceWait& wait) {
  v("devices", wait.devices);
  v("timeout_ms", wait.timeout_ms);
}

static void fields(base::FieldVisitor& v, PeerWait& wait) {
  v("peers", wait.hosts);
  v("probe", wait.probe);
  v("timeout_ms", wait.timeout_ms);
}

namespace {

void write_cluster(base::json::Writer& out, const Plan& plan) {
  out.key("cluster");
  if (!plan.cluster) {
    out.null();
  } else {
    out.begin_object();
    out.key("world_size").integer(plan.cluster->world_size);
    out.key("nodes").begin_array();
    for (std::size_t rank = 0; rank < plan.cluster->nodes.size(); ++rank) {
      out.begin_object().key("node_rank").integer(static_cast<std::int64_t>(rank));
      base::JsonOut v(out);
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

void write_hooks(base::json::Writer& out, const Plan& plan) {
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

void write_process(base::json::Writer& out, const Process& process, Deltas& deltas) {
  const EnvDelta delta = deltas.of(process.env);
  out.begin_object();
  out.key("name").string(process.name);
  base::JsonOut(out).add("argv", base::masked_arguments(process.argv));
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

void write_processes(base::json::Writer& out, std::string_view key,
                     const std::vector<Process>& processes, Deltas& deltas) {
  out.key(key).begin_array();
  for (const Process& process : processes) write_process(out, process, deltas);
  out.end_array();
}

void write_waits(base::json::Writer& out, const Plan& plan) {
  out.key("waits").begin_array();
  for (const Wait& wait : plan.waits) {
    out.begin_object();
    out.key("path").string(wait.path);
    out.key("ready").boolean(wait.why.empty());
    out.key("why").string(wait.why);
    out.key("timeout_ms").integer(wait.timeout_ms);
    out.end_object();
  }
  if (plan.peers) base::write_json(out, *plan.peers);
  out.end_array();
}

void write_warm(base::json::Writer& out, const WarmPlan& warm) {
  if (warm.modules.empty()) return;
  out.key("warm").begin_object();
  base::JsonOut v(out);
  v.add("modules", warm.modules);
  v.add("free", warm.free);
  out.key("cold").string(warm.cold);
  out.end_object();
}

}  // namespace

std::string plan_to_json(const Plan& plan, const base::Environ& base) {
  base::json::Writer out;
  base::JsonOut v(out);
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
  Deltas deltas(plan.env, base);
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
    out.key("preflight").string(base::word_of(kPreflights, plan.observe.preflight));
  }
  write_waits(out, plan);
  v.add("warnings", plan.warnings, {.masked = true});
  out.end_object();
  return std::move(out).take();
}

}  // namespace envgen
