#include "init/engine/state/state.h"

#include <algorithm>

#include "base/json.h"
#include "base/secrets.h"

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

void write_optional(json::Writer& out, const char* name, std::int64_t value) {
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

std::int64_t count_of(const json::Value& object, const char* name) {
  return std::max<std::int64_t>(number_of(object, name, 0), 0);
}

bool flag_of(const json::Value& object, const char* name) {
  auto value = object.is(json::Type::kObject) ? object.find(name) : std::nullopt;
  return value && value->is(json::Type::kBool) && value->text() == "true";
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
  task.incarnation = static_cast<int>(number_of(value, "incarnation", 0));
  task.last_output_ms = number_of(value, "last_output_ms", 0);
  task.perf_ppm = number_of(value, "perf_ppm", -1);
  task.stalled_since_ms = number_of(value, "stalled_since_ms", 0);
  return task;
}

void write_tasks(json::Writer& out, const std::vector<TaskReport>& tasks) {
  out.key("tasks").begin_array();
  for (const TaskReport& task : tasks) {
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
    out.key("incarnation").integer(task.incarnation);
    write_time(out, "last_output_ms", task.last_output_ms);
    write_optional(out, "perf_ppm", task.perf_ppm);
    write_time(out, "stalled_since_ms", task.stalled_since_ms);
    out.end_object();
  }
  out.end_array();
}

void write_data(json::Writer& out, const std::vector<DataReport>& data) {
  out.key("data").begin_array();
  for (const DataReport& one : data) {
    out.begin_object();
    out.key("name").string(one.name);
    out.key("variable").string(one.variable);
    out.key("source").string(one.source);
    out.key("path").string(one.path);
    out.key("state").string(one.state);
    out.key("how").string(envgen::mask_secrets(one.how));
    out.key("waiting").boolean(one.waiting);
    out.key("entries").integer(one.entries);
    out.key("bytes").integer(one.bytes);
    out.key("total_entries").integer(one.total_entries);
    out.key("total_bytes").integer(one.total_bytes);
    out.key("bytes_per_second").integer(one.bytes_per_second);
    write_time(out, "began_ms", one.began_ms);
    write_time(out, "ended_ms", one.ended_ms);
    out.end_object();
  }
  out.end_array();
}

DataReport data_from(const json::Value& value) {
  DataReport one;
  one.name = text_of(value, "name");
  one.variable = text_of(value, "variable");
  one.source = text_of(value, "source");
  one.path = text_of(value, "path");
  one.state = text_of(value, "state");
  one.how = text_of(value, "how");
  one.waiting = flag_of(value, "waiting");
  one.entries = count_of(value, "entries");
  one.bytes = count_of(value, "bytes");
  one.total_entries = count_of(value, "total_entries");
  one.total_bytes = count_of(value, "total_bytes");
  one.bytes_per_second = count_of(value, "bytes_per_second");
  one.began_ms = number_of(value, "began_ms", 0);
  one.ended_ms = number_of(value, "ended_ms", 0);
  return one;
}

void read_lists(const json::Value& root, JobReport& report) {
  if (auto tasks = root.find("tasks")) {
    for (json::Value task : *tasks) report.tasks.push_back(task_from(task));
  }
  if (auto data = root.find("data")) {
    for (json::Value one : *data) report.data.push_back(data_from(one));
  }
  if (auto warnings = root.find("warnings")) {
    for (json::Value warning : *warnings) report.warnings.emplace_back(warning.text());
  }
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
  write_time(out, "expires_ms", report.expires_ms);
  out.key("waiting_for").string(envgen::mask_secrets(report.waiting_for));
  write_tasks(out, report.tasks);
  write_data(out, report.data);
  out.key("hook").string(report.hook);
  out.key("restarts").integer(report.restarts);
  out.key("most_restarts").integer(report.most_restarts);
  write_time(out, "restart_at_ms", report.restart_at_ms);
  out.key("checkpoint_under_way").boolean(report.checkpoint_under_way);
  write_time(out, "checkpoint_until_ms", report.checkpoint_until_ms);
  out.key("first_failure").string(envgen::mask_secrets(report.first_failure));
  write_failure(out, report.failure);
  out.key("stop_signal").string(report.stop_signal);
  write_optional(out, "exit_code", report.exit_code);
  write_optional(out, "given_exit_code", report.given_code);
  out.key("reschedule").boolean(report.reschedule);
  write_time(out, "hold_until_ms", report.hold_until_ms);
  out.key("health").string(envgen::mask_secrets(report.health));
  out.key("warnings").begin_array();
  for (const std::string& warning : report.warnings) {
    out.string(envgen::mask_secrets(warning));
  }
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
  report.expires_ms = number_of(root, "expires_ms", 0);
  report.waiting_for = text_of(root, "waiting_for");
  report.hook = text_of(root, "hook");
  report.restarts = static_cast<int>(number_of(root, "restarts", 0));
  report.most_restarts = static_cast<int>(number_of(root, "most_restarts", 0));
  report.restart_at_ms = number_of(root, "restart_at_ms", 0);
  report.checkpoint_under_way = flag_of(root, "checkpoint_under_way");
  report.checkpoint_until_ms = number_of(root, "checkpoint_until_ms", 0);
  report.first_failure = text_of(root, "first_failure");
  if (auto failure = root.find("first_failure_detail")) report.failure = failure_from(*failure);
  report.stop_signal = text_of(root, "stop_signal");
  report.exit_code = static_cast<int>(number_of(root, "exit_code", -1));
  report.given_code = static_cast<int>(number_of(root, "given_exit_code", -1));
  report.reschedule = flag_of(root, "reschedule");
  report.hold_until_ms = number_of(root, "hold_until_ms", 0);
  report.health = text_of(root, "health");
  read_lists(root, report);
  return report;
}

}  // namespace engine
