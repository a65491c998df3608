#include "init/engine/state.h"

#include <algorithm>
#include <array>

#include "envgen/json.h"
#include "envgen/secrets.h"
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

// A name that is longer than this moves its own row only.
constexpr std::size_t kLongestColumn = 24;

bool is_shown(const TaskReport& task) {
  const bool hooks_to_come = task.state == "idle" && task.log == kHookOutput;
  return task.kind != "resolve" && !hooks_to_come;
}

std::string task_row(const TaskReport& task, std::size_t name_width) {
  std::string how = task.state;
  if (task.state == "ended") {
    how = task.signal.empty() ? "exit " + std::to_string(task.exit_code) : task.signal;
  }
  std::string row = "  " + padded(task.name, name_width) + " ";
  row += padded(task.device < 0 ? "-" : std::to_string(task.device), 8);
  row += padded(task.pid == 0 ? "-" : std::to_string(task.pid), 8);
  row += padded(how, 12);
  row += task.log.empty() ? "stdout" : printable(task.log);
  const bool says_kind = task.kind == "main" || task.name.starts_with(task.kind);
  return says_kind ? row : row + " (" + task.kind + ")";
}

std::string task_table(const std::vector<TaskReport>& tasks) {
  std::size_t name_width = 11;
  for (const TaskReport& task : tasks) {
    if (!is_shown(task) || task.name.size() > kLongestColumn) continue;
    name_width = std::max(name_width, task.name.size());
  }
  std::string text;
  for (const TaskReport& task : tasks) {
    if (!is_shown(task)) continue;
    if (text.empty())
      text = "  " + padded("task", name_width) + " device  pid     state       output\n";
    text += task_row(task, name_width) + "\n";
  }
  return text;
}

const char* colour_of(const std::string& state) {
  if (state == "error" || state == "expired") return "\033[31m";
  if (state == "success" || state == "running") return "\033[32m";
  return "\033[33m";
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
    out.end_object();
  }
  out.end_array();
}

// ", 1h 59m left"; "" for what is over.
std::string left_text(std::int64_t until_ms, std::int64_t now_ms) {
  return until_ms > now_ms ? ", " + span_text(until_ms - now_ms) + " left" : "";
}

std::string times(int count) { return std::to_string(count) + (count == 1 ? " time" : " times"); }

// What the job is about, beyond its tasks.
std::string course_text(const JobReport& report, std::int64_t now_ms) {
  std::string text;
  if (!report.waiting_for.empty()) text += "waiting for " + printable(report.waiting_for) + "\n";
  if (report.expires_ms != 0 && report.exit_code < 0) {
    text += "time limit " + sys::utc_text(report.expires_ms) +
            left_text(report.expires_ms, now_ms) + " (`trainit extend --for 2h` adds to it)\n";
  }
  if (report.restart_at_ms != 0) {
    const bool later = report.restart_at_ms > now_ms;
    text += "restart " + std::to_string(std::int64_t{report.restarts} + 1);
    if (report.most_restarts > 0) text += " of " + std::to_string(report.most_restarts);
    text += " in " + span_text(later ? report.restart_at_ms - now_ms : 0) + "\n";
  } else if (report.restarts > 0) {
    text += "restarted " + times(report.restarts);
    if (report.most_restarts > 0) text += ", at most " + std::to_string(report.most_restarts);
    text += "\n";
  }
  if (!report.hook.empty()) text += "under way: " + printable(report.hook) + "\n";
  if (report.checkpoint_under_way) {
    text += "checkpoint under way" + left_text(report.checkpoint_until_ms, now_ms) + "\n";
  }
  if (!report.stop_signal.empty()) text += "stopped by " + report.stop_signal + "\n";
  return text;
}

std::string failure_text(const JobReport& report, std::int64_t now_ms) {
  std::string text;
  if (!report.first_failure.empty()) {
    const bool again = report.restarts > 0 && report.state == "running";
    text += again ? "before the restart: " : "first failure: ";
    text += printable(report.first_failure) + "\n";
  }
  if (report.hold_until_ms != 0) {
    text += "debug window until " + sys::utc_text(report.hold_until_ms) +
            left_text(report.hold_until_ms, now_ms) +
            " (end it with `trainit release`, set it anew with `trainit hold --for 2h`)\n";
  }
  return text;
}

std::string exit_text(const JobReport& report) {
  if (report.exit_code < 0) return "";
  std::string text = "exit code " + std::to_string(report.exit_code);
  if (report.given_code >= 0 && report.given_code != report.exit_code) {
    text += ", given as " + std::to_string(report.given_code);
  }
  if (report.reschedule) text += ": after a checkpoint, to be scheduled again";
  return text + "\n";
}

void read_lists(const json::Value& root, JobReport& report) {
  if (auto tasks = root.find("tasks")) {
    for (json::Value task : *tasks) report.tasks.push_back(task_from(task));
  }
  if (auto warnings = root.find("warnings")) {
    for (json::Value warning : *warnings) report.warnings.emplace_back(warning.text());
  }
}

}  // namespace

std::string span_text(std::int64_t ms) {
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr std::array kUnits = {Unit{86'400'000, "d"}, Unit{3'600'000, "h"},
                                        Unit{60'000, "m"}, Unit{1000, "s"}};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const Unit& unit = kUnits.at(i);
    if (ms < unit.ms) continue;
    std::string text = std::to_string(ms / unit.ms) + unit.name;
    const std::int64_t rest = ms % unit.ms;
    if (i + 1 == kUnits.size() || rest < kUnits.at(i + 1).ms) return text;
    return text + " " + std::to_string(rest / kUnits.at(i + 1).ms) + kUnits.at(i + 1).name;
  }
  return "0s";
}

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
  out.key("hook").string(report.hook);
  out.key("restarts").integer(report.restarts);
  out.key("most_restarts").integer(report.most_restarts);
  write_time(out, "restart_at_ms", report.restart_at_ms);
  out.key("checkpoint_under_way").boolean(report.checkpoint_under_way);
  write_time(out, "checkpoint_until_ms", report.checkpoint_until_ms);
  out.key("first_failure").string(envgen::mask_secrets(report.first_failure));
  out.key("stop_signal").string(report.stop_signal);
  write_optional(out, "exit_code", report.exit_code);
  write_optional(out, "given_exit_code", report.given_code);
  out.key("reschedule").boolean(report.reschedule);
  write_time(out, "hold_until_ms", report.hold_until_ms);
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
  report.stop_signal = text_of(root, "stop_signal");
  report.exit_code = static_cast<int>(number_of(root, "exit_code", -1));
  report.given_code = static_cast<int>(number_of(root, "given_exit_code", -1));
  report.reschedule = flag_of(root, "reschedule");
  report.hold_until_ms = number_of(root, "hold_until_ms", 0);
  read_lists(root, report);
  return report;
}

std::string state_to_text(const JobReport& report, std::int64_t now_ms, bool colour) {
  std::string text = "state " + std::string(colour ? colour_of(report.state) : "") + report.state +
                     (colour ? "\033[0m" : "") + ", phase " + report.phase;
  if (!report.platform.empty()) {
    text += "; " + report.platform + "/" + report.framework + ", node " +
            std::to_string(report.node_rank) + " of " + std::to_string(report.node_count) +
            ", world size " + std::to_string(report.world_size);
  }
  text += "\nstarted " + sys::utc_text(report.started_ms) + ", updated " +
          sys::utc_text(report.updated_ms) + "\n";
  text += course_text(report, now_ms) + failure_text(report, now_ms) + exit_text(report) +
          task_table(report.tasks);
  for (const std::string& warning : report.warnings) {
    text += "warning: " + printable(warning) + "\n";
  }
  return text;
}

}  // namespace engine
