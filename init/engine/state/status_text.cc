#include "init/engine/state/status_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/characters/utf8.h"
#include "base/printed_text.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "init/copy/copy_progress.h"
#include "init/sys/clock.h"
#include "lifecycle/node_names.h"

namespace engine {
namespace {

// Returns the number of terminal columns of `text`. A wide character (CJK) counts as one, too.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t has = columns(text);
  if (has < width) text.append(width - has, ' ');
  return text;
}

// Cuts `text` to `width` columns, with ">" as the last one if some are left out. 0: no limit.
std::string fitted(std::string text, std::size_t width) {
  if (width == 0 || columns(text) <= width) return text;
  std::size_t size = 0;
  for (std::size_t has = 0; has + 1 < width; ++has) {
    size += std::max<std::size_t>(base::utf8_length(std::string_view(text).substr(size)), 1);
  }
  return text.substr(0, size) + ">";
}

// Maximum width of the name column. A longer name only shifts the rest of its own row.
constexpr std::size_t kLongestColumn = 24;

bool is_shown(const TaskReport& task) {
  const bool hooks_to_come = task.state == "idle" && task.log == kHookOutput;
  return task.kind != "resolve" && task.kind != "data" && !hooks_to_come;
}

constexpr const char* kRed = "\033[31m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kPlain = "\033[0m";

// The width of the name column, and which optional columns have something to show.
struct Columns {
  std::size_t name = 11;
  bool age = false;   // time since the last output
  bool perf = false;  // ratio of hardware time to end-to-end time
  bool step = false;
  bool starts = false;  // number of starts of a task
};

Columns columns_of(const std::vector<TaskReport>& tasks) {
  Columns has;
  for (const TaskReport& task : tasks) {
    if (!is_shown(task)) continue;
    if (task.name.size() <= kLongestColumn) has.name = std::max(has.name, task.name.size());
    has.age = has.age || task.last_output_ms > 0;
    has.perf = has.perf || task.perf_ppm >= 0;
    has.step = has.step || task.step >= 0;
    has.starts = has.starts || task.incarnation > 1;
  }
  return has;
}

std::string percent_text(std::int64_t ppm) {
  return std::to_string(ppm / 10'000) + "." + std::to_string(ppm % 10'000 / 1000) + "%";
}

std::string state_of(const TaskReport& task, std::int64_t now_ms) {
  if (task.state == "ended") {
    return task.signal.empty() ? "exit " + std::to_string(task.exit_code) : task.signal;
  }
  if (task.stalled_since_ms > 0) return "stalled " + span_text(now_ms - task.stalled_since_ms);
  return task.state;
}

const char* colour_of(const TaskReport& task) {
  if (task.state == "ended") return task.exit_code == 0 ? "" : kRed;
  if (task.stalled_since_ms > 0 || task.state == "stopped") return kYellow;
  return task.state == "running" ? kGreen : "";
}

std::string age_text(const TaskReport& task, std::int64_t now_ms) {
  return task.last_output_ms > 0 ? span_text(now_ms - task.last_output_ms) + " ago" : "-";
}

std::string known(std::int64_t value, std::int64_t none) {
  return value == none ? "-" : std::to_string(value);
}

std::string task_row(const TaskReport& task, const Columns& has, std::int64_t now_ms,
                     TextStyle style) {
  const std::string state = padded(state_of(task, now_ms), 12);
  std::string row = "  " + padded(base::escaped_text(task.name), has.name) + " ";
  row += padded(known(task.device, -1), 8);
  row += padded(known(task.pid, 0), 8);
  row += state;
  if (has.starts) row += padded(std::to_string(task.incarnation), 8);
  if (has.step) row += padded(known(task.step, -1), 10);
  if (has.perf) row += padded(task.perf_ppm < 0 ? "-" : percent_text(task.perf_ppm), 8);
  if (has.age) row += padded(age_text(task, now_ms), 13);
  row += task.log.empty() ? "stdout" : base::escaped_text(task.log);
  const bool says_kind = task.kind == "main" || task.name.starts_with(task.kind);
  if (!says_kind) row += " (" + task.kind + ")";
  row = fitted(std::move(row), style.width);
  const char* colour = style.colour ? colour_of(task) : "";
  const std::size_t at = row.find(state);
  if (*colour == '\0' || at == std::string::npos) return row;
  return row.substr(0, at) + colour + state + kPlain + row.substr(at + state.size());
}

std::string task_table(const std::vector<TaskReport>& tasks, std::int64_t now_ms, TextStyle style) {
  const Columns has = columns_of(tasks);
  std::string text;
  for (const TaskReport& task : tasks) {
    if (!is_shown(task)) continue;
    if (text.empty()) {
      std::string head = "  " + padded("task", has.name) + " device  pid     state       ";
      if (has.starts) head += "starts  ";
      if (has.step) head += "step      ";
      if (has.perf) head += "perf    ";
      if (has.age) head += "last output  ";
      text = fitted(head + "output", style.width) + "\n";
    }
    text += task_row(task, has, now_ms, style) + "\n";
  }
  return text;
}

const char* colour_of(const std::string& state) {
  if (state == "error" || state == "expired") return kRed;
  if (state == "success" || state == "running") return kGreen;
  return kYellow;
}

// Returns the time until `until_ms` as ", 1h 59m left"; "" if it is over.
std::string left_text(std::int64_t until_ms, std::int64_t now_ms) {
  return until_ms > now_ms ? ", " + span_text(until_ms - now_ms) + " left" : "";
}

std::string times(int count) { return std::to_string(count) + (count == 1 ? " time" : " times"); }

std::string data_line(const DataReport& data) {
  std::string text = "data " + base::escaped_text(data.name) + ": ";
  if (data.state == "idle") return text + "not begun\n";
  if (data.state == "failed") {
    if (!data.path.empty())
      text += "not copied, the job reads " + base::escaped_text(data.path) + ": ";
    return text + base::escaped_text(data.how) + "\n";
  }
  if (data.state == "ready") {
    return text + base::escaped_text(data.how) + ", " + std::to_string(data.entries) +
           " entries, " + base::size_text(static_cast<std::uint64_t>(data.bytes)) + ", at " +
           base::escaped_text(data.path) + "\n";
  }
  const bool unknown = data.entries == 0 && data.total_entries == 0;
  if (data.waiting && unknown) return text + "waiting for another job's copy\n";
  const copy::CopyProgress progress{
      .phase = data.waiting ? "copying" : std::string_view(data.state),
      .waiting = data.waiting,
      .entries = static_cast<std::uint64_t>(data.entries),
      .bytes = static_cast<std::uint64_t>(data.bytes),
      .total_entries = static_cast<std::uint64_t>(data.total_entries),
      .total_bytes = static_cast<std::uint64_t>(data.total_bytes)};
  const copy::Rate rate{.bytes = static_cast<std::uint64_t>(data.bytes_per_second)};
  return text + base::escaped_text(progress_line(progress, rate)) + "\n";
}

std::string counted_text(const JobReport& report) {
  const std::string most = "at most " + std::to_string(report.most_restarts);
  if (report.counted_restarts == report.restarts) return ", " + most;
  return ", " + std::to_string(report.counted_restarts) + " of " + most + " counted";
}

// Returns lines about how ranks were restarted, and about their spare processes. Tasks with the
// same text share a line.
std::string warm_lines(const JobReport& report) {
  std::string text;
  for (const auto& [what, member] : {std::pair("started ", &TaskReport::start),
                                     std::pair("stands by for ", &TaskReport::warm)}) {
    std::map<std::string, std::string> tasks;
    for (const TaskReport& task : report.tasks) {
      if ((task.*member).empty()) continue;
      std::string& names = tasks[task.*member];
      names += (names.empty() ? "" : ", ") + task.name;
    }
    for (const auto& [how, names] : tasks) {
      text += what + base::escaped_text(names) + ": " + base::escaped_text(how) + "\n";
    }
  }
  return text;
}

// Returns the lines about the job as a whole.
std::string phase_lines(const JobReport& report, std::int64_t now_ms) {
  std::string text;
  for (const DataReport& data : report.data) text += data_line(data);
  if (!report.waiting_for.empty()) {
    text += "waiting for " + base::escaped_text(report.waiting_for) +
            since_text(report.waiting_since_ms, now_ms) + "\n";
  }
  if (report.expires_ms != 0 && report.exit_code < 0) {
    text += "time limit " + sys::utc_text(report.expires_ms) +
            left_text(report.expires_ms, now_ms) + " (`trainit extend --for 2h` adds to it)\n";
  }
  if (report.restart_at_ms != 0) {
    if (report.most_restarts > 0 && report.counted_restarts > 0) {
      text += "restart " + std::to_string(report.counted_restarts) + " of " +
              std::to_string(report.most_restarts);
    } else {  // no failure counts: the list of nodes has changed
      text += "restart " + std::to_string(std::int64_t{report.restarts} + 1);
    }
    const bool later = report.restart_at_ms > now_ms;
    text += (later ? until_text(report.restart_at_ms - now_ms) : "") + "\n";
  } else if (report.restarts > 0) {
    text += "restarted " + times(report.restarts);
    if (report.most_restarts > 0) text += counted_text(report);
    text += "\n";
  }
  text += warm_lines(report);
  if (!report.hook.empty()) text += "under way: " + base::escaped_text(report.hook) + "\n";
  if (report.checkpoint_under_way) {
    text += "checkpoint under way" + left_text(report.checkpoint_until_ms, now_ms) + "\n";
  }
  if (!report.stop_signal.empty()) text += "stopped by " + report.stop_signal + "\n";
  return text;
}

std::string list_text(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : ", ") + base::escaped_text(item);
  return text;
}

// Returns the details of the failure that its message does not contain.
std::string detail_text(const FailureDetail& detail) {
  std::string text;
  if (detail.cause) {
    if (!detail.cause->traceback.empty()) text += "  its traceback:\n";
    for (const std::string& line : detail.cause->traceback) {
      text += "    " + base::escaped_text(line) + "\n";
    }
  }
  if (!detail.torn_down.empty()) {
    text += "  torn down because of it: " + list_text(detail.torn_down) + "\n";
  }
  const std::vector<std::string> last_lines = lines_beside_traceback(detail);
  if (!last_lines.empty()) text += "  its last lines:\n";
  for (const std::string& line : last_lines) text += "    " + base::escaped_text(line) + "\n";
  return text.empty() ? "" : base::escaped_text(detail.task) + " failed first\n" + text;
}

std::string cause_lines(const FailureDetail& detail) {
  if (!detail.cause) return "";
  std::string text;
  const std::string cause = cause_text(*detail.cause);
  if (!cause.empty()) text += "  " + base::escaped_text(cause) + "\n";
  if (!detail.cause->advice.empty()) {
    text += "  what to do: " + base::escaped_text(detail.cause->advice) + "\n";
  }
  return text;
}

// Returns the text with the commands that are useful in a debug window.
std::string hold_text(const JobReport& report, std::int64_t now_ms, bool timeline) {
  constexpr std::size_t kWidth = 21;  // length of the longest command, without a path
  std::string text = "debug window until " + sys::utc_text(report.hold_until_ms) +
                     left_text(report.hold_until_ms, now_ms) + "; type\n";
  const auto say = [&text](std::string command, const char* what) {
    text += "  " + padded(std::move(command), kWidth) + "  " + what + "\n";
  };
  const std::string log = base::escaped_text(report.failure.log);
  const bool here = report.failure.node == report.node_rank;
  if (!log.empty() && here) say("tail -n 100 " + log, "what failed first printed");
  if (!log.empty() && !here) {
    const auto node = static_cast<std::uint32_t>(report.failure.node);
    text += "  what failed first printed on " +
            base::escaped_text(lifecycle::named_node(node, report.failure.host)) + ": " + log +
            "\n";
  }
  if (timeline) say("trainit report", "what happened, and when");
  say("trainit hold --for 2h", "keep it for so long from now");
  say("trainit release", "end it, with the failure's exit code");
  return text;
}

std::string failure_text(const JobReport& report) {
  std::string text;
  if (!report.first_failure.empty()) {
    const bool again = report.restarts > 0 && report.state == "running";
    text += again ? "before the restart: " : "first failure: ";
    text += base::escaped_text(report.first_failure);
    if (report.failure.at_ms > 0) text += " (" + sys::utc_text(report.failure.at_ms) + ")";
    text += "\n" + cause_lines(report.failure);
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

}  // namespace

std::string steps_text(const std::vector<TaskReport>& tasks) {
  std::vector<const TaskReport*> tell;
  std::int64_t saved = -1;
  for (const TaskReport& task : tasks) {
    if (task.step >= 0) tell.push_back(&task);
    if (task.saved_step >= 0)
      saved = saved < 0 ? task.saved_step : std::min(saved, task.saved_step);
  }
  base::stable_sort(tell, std::less(), &TaskReport::step);
  std::string text;
  if (!tell.empty()) {
    // If the number of ranks is even, the faster of the two middle ranks counts. So with two ranks,
    // one can be behind.
    const std::int64_t median = tell[tell.size() / 2]->step;
    const std::int64_t behind = median - tell[0]->step;
    text = (tell.size() == 1 ? "step " : "median step ") + std::to_string(median);
    if (behind > 0) {
      text += ", slowest " + base::escaped_text(tell[0]->name) + " at " +
              std::to_string(tell[0]->step) + ", " + std::to_string(behind) + " behind";
    }
  }
  if (saved >= 0) text += (text.empty() ? "" : ", ") + ("saved at step " + std::to_string(saved));
  return text;
}

std::string span_text(std::int64_t ms) {
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr auto kUnits = std::to_array(
      {Unit{86'400'000, "d"}, Unit{3'600'000, "h"}, Unit{60'000, "m"}, Unit{1000, "s"}});
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

std::string since_text(std::int64_t since_ms, std::int64_t now_ms) {
  const std::int64_t span_ms = now_ms - since_ms;
  return since_ms > 0 && span_ms >= 1000 ? " (" + span_text(span_ms) + ")" : "";
}

std::string until_text(std::int64_t ms) {
  if (ms <= 0) return "";
  return ms < 1000 ? " in " + std::to_string(ms) + " ms" : " in " + span_text(ms);
}

namespace {

std::string state_lines(const JobReport& report, TextStyle style) {
  std::string text = "state ";
  text += style.colour ? colour_of(report.state) : "";
  text += base::escaped_text(report.state);
  text += style.colour ? kPlain : "";
  text += ", phase " + base::escaped_text(report.phase);
  if (!report.platform.empty()) {
    text += "; " + base::escaped_text(report.platform) + "/" +
            base::escaped_text(report.framework) + ", node " + std::to_string(report.node_rank) +
            " of " + std::to_string(report.node_count) + ", world size " +
            std::to_string(report.world_size);
  }
  return text + "\nstarted " + sys::utc_text(report.started_ms) + ", updated " +
         sys::utc_text(report.updated_ms) + "\n";
}

}  // namespace

// The table of tasks comes first. With many ranks it is longer than a terminal, so what matters
// most is at the end.
std::string state_to_text(const JobReport& report, std::int64_t now_ms, TextStyle style) {
  std::string text = task_table(report.tasks, now_ms, style);
  const std::string steps = steps_text(report.tasks);
  if (!steps.empty()) text += "progress: " + steps + "\n";
  if (!report.health.empty()) text += "health: " + base::escaped_text(report.health) + "\n";
  for (const std::string& warning : report.warnings) {
    text += "warning: " + base::escaped_text(warning) + "\n";
  }
  text += detail_text(report.failure);
  if (report.hold_until_ms != 0) text += hold_text(report, now_ms, style.timeline);
  return text + state_lines(report, style) + phase_lines(report, now_ms) + exit_text(report) +
         failure_text(report);
}

}  // namespace engine
