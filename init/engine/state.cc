#include "init/engine/state.h"

#include <algorithm>

#include "envgen/json.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

namespace json = envgen::json;

constexpr std::int64_t kVersion = 1;

void write_time(json::Writer& out, const char* name, std::int64_t wall_ms) {
  out.key(name);
  if (wall_ms == 0) {
    out.null();
  } else {
    out.integer(wall_ms);
  }
}

void write_optional(json::Writer& out, const char* name, int value) {
  out.key(name);
  if (value < 0) {
    out.null();
  } else {
    out.integer(value);
  }
}

std::string text_of(const json::Value& object, const char* name) {
  auto value = object.is(json::Type::kObject) ? object.find(name) : std::nullopt;
  return value ? std::string(value->text()) : "";
}

std::int64_t number_of(const json::Value& object, const char* name, std::int64_t fallback) {
  auto value = object.is(json::Type::kObject) ? object.find(name) : std::nullopt;
  return value ? value->integer().value_or(fallback) : fallback;
}

TaskReport task_from(const json::Value& value) {
  TaskReport task;
  task.name = text_of(value, "name");
  task.kind = text_of(value, "kind");
  task.state = text_of(value, "state");
  task.rank = static_cast<int>(number_of(value, "rank", -1));
  task.device = static_cast<int>(number_of(value, "device", -1));
  task.pid = static_cast<int>(number_of(value, "pid", 0));
  task.exit_code = static_cast<int>(number_of(value, "exit_code", -1));
  task.signal = text_of(value, "signal");
  task.log = text_of(value, "log");
  task.started_ms = number_of(value, "started_ms", 0);
  task.ended_ms = number_of(value, "ended_ms", 0);
  return task;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// What came from a job or a file must not repaint the terminal: no C0 or C1 control characters.
std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool c1_control = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    const bool control = byte < 0x20 || byte == 0x7F || c1_control;
    result += control ? '?' : text[i];
    if (c1_control) ++i;
  }
  return result;
}

std::string task_row(const TaskReport& task) {
  std::string how = task.state;
  if (task.state == "ended") {
    how = task.signal.empty() ? "exit " + std::to_string(task.exit_code) : task.signal;
  }
  std::string row = "  " + padded(task.name, 12);
  row += padded(task.device < 0 ? "-" : std::to_string(task.device), 8);
  row += padded(task.pid == 0 ? "-" : std::to_string(task.pid), 8);
  row += padded(how, 12);
  row += task.log.empty() ? "stdout" : printable(task.log);
  return row;
}

const char* colour_of(const std::string& state) {
  if (state == "error" || state == "expired") return "\033[31m";
  if (state == "success" || state == "running") return "\033[32m";
  return "\033[33m";
}

}  // namespace

std::string state_to_json(const JobReport& report) {
  json::Writer out;
  out.begin_object();
  out.key("version").integer(kVersion);
  out.key("pid").integer(report.pid);
  out.key("phase").string(report.phase);
  out.key("state").string(report.state);
  out.key("platform").string(report.platform);
  out.key("framework").string(report.framework);
  out.key("node_rank").integer(report.node_rank);
  out.key("node_count").integer(report.node_count);
  out.key("world_size").integer(report.world_size);
  write_time(out, "started_ms", report.started_ms);
  write_time(out, "updated_ms", report.updated_ms);
  out.key("waiting_for").string(report.waiting_for);
  out.key("tasks").begin_array();
  for (const TaskReport& task : report.tasks) {
    out.begin_object();
    out.key("name").string(task.name);
    out.key("kind").string(task.kind);
    out.key("state").string(task.state);
    write_optional(out, "rank", task.rank);
    write_optional(out, "device", task.device);
    out.key("pid").integer(task.pid);
    write_optional(out, "exit_code", task.exit_code);
    out.key("signal").string(task.signal);
    out.key("log").string(task.log);
    write_time(out, "started_ms", task.started_ms);
    write_time(out, "ended_ms", task.ended_ms);
    out.end_object();
  }
  out.end_array();
  out.key("first_failure").string(report.first_failure);
  out.key("stop_signal").string(report.stop_signal);
  write_optional(out, "exit_code", report.exit_code);
  write_time(out, "hold_until_ms", report.hold_until_ms);
  out.key("warnings").begin_array();
  for (const std::string& warning : report.warnings) out.string(warning);
  out.end_array().end_object();
  return std::move(out).take();
}

envgen::Result<JobReport> state_from_json(std::string_view text, std::string_view where) {
  auto document = json::Document::parse(text, where);
  if (!document) return std::unexpected(document.error().error);
  json::Value root = document->root();
  if (number_of(root, "version", 0) != kVersion) {
    return envgen::fail("reading the state", std::string(where), "another version of the file",
                        "use the trainit that runs as the container's entrypoint");
  }
  JobReport report;
  report.pid = static_cast<int>(number_of(root, "pid", 0));
  report.phase = text_of(root, "phase");
  report.state = text_of(root, "state");
  report.platform = text_of(root, "platform");
  report.framework = text_of(root, "framework");
  report.node_rank = static_cast<int>(number_of(root, "node_rank", 0));
  report.node_count = static_cast<int>(number_of(root, "node_count", 1));
  report.world_size = static_cast<int>(number_of(root, "world_size", 1));
  report.started_ms = number_of(root, "started_ms", 0);
  report.updated_ms = number_of(root, "updated_ms", 0);
  report.waiting_for = text_of(root, "waiting_for");
  report.first_failure = text_of(root, "first_failure");
  report.stop_signal = text_of(root, "stop_signal");
  report.exit_code = static_cast<int>(number_of(root, "exit_code", -1));
  report.hold_until_ms = number_of(root, "hold_until_ms", 0);
  if (auto tasks = root.find("tasks")) {
    for (json::Value task : *tasks) report.tasks.push_back(task_from(task));
  }
  if (auto warnings = root.find("warnings")) {
    for (json::Value warning : *warnings) report.warnings.emplace_back(warning.text());
  }
  return report;
}

std::string state_to_text(const JobReport& report, bool colour) {
  std::string text = "state " + std::string(colour ? colour_of(report.state) : "") + report.state +
                     (colour ? "\033[0m" : "") + ", phase " + report.phase;
  if (!report.platform.empty()) {
    text += "; " + report.platform + "/" + report.framework + ", node " +
            std::to_string(report.node_rank) + " of " + std::to_string(report.node_count) +
            ", world size " + std::to_string(report.world_size);
  }
  text += "\nstarted " + sys::utc_text(report.started_ms) + ", updated " +
          sys::utc_text(report.updated_ms) + "\n";
  if (!report.waiting_for.empty()) text += "waiting for " + printable(report.waiting_for) + "\n";
  if (!report.stop_signal.empty()) text += "stopped by " + report.stop_signal + "\n";
  if (!report.first_failure.empty()) {
    text += "first failure: " + printable(report.first_failure) + "\n";
  }
  if (report.hold_until_ms != 0) {
    text += "debug window until " + sys::utc_text(report.hold_until_ms) +
            " (end it with `trainit release`)\n";
  }
  if (report.exit_code >= 0) text += "exit code " + std::to_string(report.exit_code) + "\n";
  bool any = false;
  for (const TaskReport& task : report.tasks) {
    if (task.kind != "main") continue;
    if (!any) text += "  task        device  pid     state       output\n";
    any = true;
    text += task_row(task) + "\n";
  }
  for (const std::string& warning : report.warnings) {
    text += "warning: " + printable(warning) + "\n";
  }
  return text;
}

}  // namespace engine
