#include <algorithm>
#include <map>
#include <set>

#include "envgen/json.h"
#include "envgen/plan.h"

namespace envgen {
namespace {

// What a process's edits come to on `base`: names and final values, and names that go away.
struct EnvDelta {
  std::map<std::string, std::string> set;
  std::set<std::string> unset;
};

EnvDelta delta_of(const Process& process, const Environ& base) {
  Environ edited = base;
  for (const EnvEdit& edit : process.env) edited.apply(edit);
  EnvDelta delta;
  for (const EnvEdit& edit : process.env) {
    auto before = base.get(edit.name);
    auto after = edited.get(edit.name);
    if (before && !after) delta.unset.insert(edit.name);
    if (!after || before == after) continue;
    delta.set[edit.name] = masked_value(edit.name, *after);
  }
  return delta;
}

void write_texts(json::Writer& out, const std::vector<std::string>& list) {
  out.begin_array();
  for (const std::string& item : list) out.string(item);
  out.end_array();
}

void write_node(json::Writer& out, const Node& node, std::size_t node_rank) {
  out.begin_object();
  out.key("node_rank").integer(static_cast<std::int64_t>(node_rank));
  if (!node.pod_name.empty()) out.key("pod_name").string(node.pod_name);
  out.key("server_id").string(node.server_id);
  if (!node.host_ip.empty()) out.key("host_ip").string(node.host_ip);
  if (!node.container_ip.empty()) out.key("container_ip").string(node.container_ip);
  out.key("devices").begin_array();
  for (const Device& device : node.devices) {
    out.begin_object();
    out.key("rank").integer(device.rank);
    out.key("device_id").integer(device.physical_id);
    out.key("device_ip").string(device.ip);
    out.end_object();
  }
  out.end_array().end_object();
}

void write_cluster(json::Writer& out, const Plan& plan) {
  out.key("cluster");
  if (!plan.cluster) {
    out.null();
  } else {
    out.begin_object();
    out.key("world_size").integer(plan.cluster->world_size);
    out.key("nodes").begin_array();
    for (std::size_t i = 0; i < plan.cluster->nodes.size(); ++i) {
      write_node(out, plan.cluster->nodes[i], i);
    }
    out.end_array().end_object();
  }
  out.key("self");
  if (!plan.self) {
    out.null();
  } else {
    out.begin_object();
    out.key("node_rank").integer(plan.self->node_rank);
    out.key("reason").string(plan.self->reason);
    out.end_object();
  }
}

void write_files(json::Writer& out, const Plan& plan) {
  out.key("directories").begin_array();
  for (const PlannedDirectory& directory : plan.directories) {
    out.begin_object();
    out.key("path").string(directory.path);
    out.key("clean").boolean(directory.clean);
    out.end_object();
  }
  out.end_array();
  out.key("files").begin_array();
  for (const PlannedFile& file : plan.files) {
    out.begin_object();
    out.key("path").string(file.path);
    out.key("mode").integer(file.mode);
    out.key("content").string(file.content);
    out.end_object();
  }
  out.end_array();
}

void write_process(json::Writer& out, const Process& process, const Environ& base) {
  EnvDelta delta = delta_of(process, base);
  out.begin_object();
  out.key("name").string(process.name);
  out.key("argv");
  write_texts(out, process.argv);
  out.key("cwd").string(process.cwd);
  out.key("env").begin_object();
  for (const auto& [name, value] : delta.set) out.key(name).string(value);
  out.end_object();
  out.key("unset").begin_array();
  for (const std::string& name : delta.unset) out.string(name);
  out.end_array();
  out.key("log").string(process.log);
  out.end_object();
}

const char* success_name(Success success) {
  switch (success) {
    case Success::kAll:
      return "all";
    case Success::kFirst:
      return "first";
    case Success::kServe:
      return "serve";
  }
  return "all";
}

std::string seconds(std::int64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) text += "." + std::to_string(1000 + ms % 1000).substr(1);
  return text + " s";
}

void add_process_text(std::string& text, const Process& process, const Environ& base) {
  EnvDelta delta = delta_of(process, base);
  text += "  " + process.name;
  if (process.device >= 0) text += " (device " + std::to_string(process.device) + ")";
  text += ":";
  for (const std::string& argument : process.argv) text += " " + argument;
  text += "\n    in " + process.cwd + ", output to ";
  text += process.log.empty() ? "stdout and stderr" : process.log;
  text += "\n";
  for (const auto& [name, value] : delta.set)
    text.append("    ").append(name).append("=").append(value).append("\n");
  for (const std::string& name : delta.unset) text.append("    ").append(name).append(" unset\n");
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Environ& base) {
  json::Writer out;
  out.begin_object();
  out.key("platform").string(plan.platform);
  out.key("platform_reason").string(plan.platform_reason);
  out.key("framework").string(plan.framework);
  write_cluster(out, plan);
  write_files(out, plan);
  out.key("processes").begin_array();
  for (const Process& process : plan.processes) write_process(out, process, base);
  out.end_array();
  for (const char* none_yet : {"services", "hooks", "data"}) {
    out.key(none_yet).begin_array().end_array();
  }
  out.key("policy").begin_object();
  out.key("success").string(success_name(plan.policy.success));
  out.key("grace_ms").integer(plan.policy.grace_ms);
  out.key("hold_ms").integer(plan.policy.hold_ms);
  out.end_object();
  out.key("waits").begin_array();
  for (const Wait& wait : plan.waits) {
    out.begin_object();
    out.key("path").string(wait.path);
    out.key("ready").boolean(wait.why.empty());
    out.key("why").string(wait.why);
    out.key("timeout_ms").integer(wait.timeout_ms);
    out.end_object();
  }
  out.end_array();
  out.key("warnings");
  write_texts(out, plan.warnings);
  out.end_object();
  return std::move(out).take();
}

std::string plan_to_text(const Plan& plan, const Environ& base) {
  std::string text = "platform " + plan.platform + " (" + plan.platform_reason + "), framework " +
                     plan.framework + "\n";
  if (plan.self) {
    text += "node " + std::to_string(plan.self->node_rank) + " of " +
            std::to_string(plan.node_count) + " (" + plan.self->reason + "), world size " +
            std::to_string(plan.world_size) + "\n";
  }
  for (const Wait& wait : plan.waits) {
    text += wait.why.empty() ? "waited for " + wait.path + ": it is ready\n"
                             : "waits for " + wait.path + ", at most " + seconds(wait.timeout_ms) +
                                   ": " + wait.why + "\n";
  }
  for (const std::string& warning : plan.warnings) text += "warning: " + warning + "\n";
  for (const PlannedDirectory& directory : plan.directories) {
    text += "directory " + directory.path + (directory.clean ? ", emptied first\n" : "\n");
  }
  for (const PlannedFile& file : plan.files) {
    text += "writes " + file.path + ", " + std::to_string(file.content.size()) + " bytes\n";
  }
  text += "starts " + std::to_string(plan.processes.size()) +
          (plan.processes.size() == 1 ? " process" : " processes") + "\n";
  for (const Process& process : plan.processes) add_process_text(text, process, base);
  text += "stops within " + seconds(plan.policy.grace_ms);
  if (plan.policy.hold_ms > 0) text += ", holds " + seconds(plan.policy.hold_ms) + " on failure";
  return text + "\n";
}

}  // namespace envgen
