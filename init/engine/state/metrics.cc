#include "init/engine/state/metrics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/constants/words.h"
#include "base/printed_text.h"

namespace engine {
namespace {

constexpr auto kPhases =
    base::words("preparing", "starting", "running", "checkpointing", "stopping", "on-failure",
                "post-stop", "auto-restart", "hold", "exited");
constexpr auto kTaskStates = base::words("idle", "starting", "running", "stopped", "ended");

bool is_main(const TaskReport& task) { return task.kind == "main"; }

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : base::escaped_text(value)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + escaped(value) + '"';
}

// Returns seconds with three decimals: "1.500" for 1500.
std::string seconds_text(std::int64_t ms) {
  const std::string rest = std::to_string(1000 + ms % 1000);
  return std::to_string(ms / 1000) + "." + rest.substr(1);
}

class Families {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "trainit_" + std::string(name);
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " +
             std::string(type) + "\n";
    if (type == "counter") name_ += "_total";
  }
  void sample(std::string_view value, std::string_view labels = {}) {
    text_ += name_ + (labels.empty() ? "" : "{" + std::string(labels) + "}") + " " +
             std::string(value) + "\n";
  }
  void one(std::string_view name, std::string_view help, std::int64_t value) {
    begin(name, "gauge", help);
    sample(std::to_string(value));
  }
  std::string take() && { return std::move(text_) + "# EOF\n"; }

 private:
  std::string name_;
  std::string text_;
};

void add_job(Families& families, const JobReport& report, std::int64_t now_ms) {
  families.begin("job_info", "gauge", "What runs; always 1.");
  families.sample("1", label("platform", report.platform) + "," +
                           label("framework", report.framework) + "," +
                           label("node_rank", std::to_string(report.node_rank)));
  families.one("nodes", "Nodes of the job.", report.node_count);
  families.one("world_size", "Ranks of the job, on all nodes.", report.world_size);
  families.begin("phase", "gauge", "1 for the phase that the job is in.");
  for (const std::string_view phase : kPhases) {
    families.sample(report.phase == phase ? "1" : "0", label("phase", phase));
  }
  families.begin("restarts", "counter", "Restarts of the job in this container, for any reason.");
  families.sample(std::to_string(report.restarts));
  families.begin("start_timestamp_seconds", "gauge", "When trainit began.");
  families.sample(seconds_text(report.started_ms));
  families.begin("updated_timestamp_seconds", "gauge", "When this file was written.");
  families.sample(seconds_text(now_ms));
  families.one("failed", "1 when there is a first failure that has not been restarted from.",
               report.state == "error" ? 1 : 0);
  if (report.exit_code >= 0) {
    families.one("exit_code", "Of the job, which has ended.", report.exit_code);
  }
}

void add_ranks(Families& families, const JobReport& report, std::int64_t now_ms) {
  families.begin("ranks", "gauge", "Main processes of this node, by state.");
  for (const std::string_view state : kTaskStates) {
    const auto count = std::ranges::count_if(report.tasks, [state](const TaskReport& task) {
      return is_main(task) && task.state == state;
    });
    families.sample(std::to_string(count), label("state", state));
  }
  const auto stalled = std::ranges::count_if(report.tasks, [](const TaskReport& task) {
    return is_main(task) && task.stalled_since_ms > 0;
  });
  families.one("stalled_ranks", "Main processes that make no progress (--stall-timeout).", stalled);
  families.begin("rank_silent_seconds", "gauge",
                 "How long a main process has printed nothing, where its output is seen.");
  for (const TaskReport& task : report.tasks) {
    if (!is_main(task) || task.last_output_ms == 0 || task.pid == 0) continue;
    const std::int64_t silent_ms = std::max<std::int64_t>(now_ms - task.last_output_ms, 0);
    families.sample(seconds_text(silent_ms), label("task", task.name));
  }
}

void add_steps(Families& families, const JobReport& report) {
  using Member = std::int64_t TaskReport::*;
  auto add = [&](Member step, std::string_view name, std::string_view help) {
    const auto tells = [step](const TaskReport& task) { return is_main(task) && task.*step >= 0; };
    if (std::ranges::none_of(report.tasks, tells)) return;
    families.begin(name, "gauge", help);
    for (const TaskReport& task : report.tasks) {
      if (tells(task)) families.sample(std::to_string(task.*step), label("task", task.name));
    }
  };
  add(&TaskReport::step, "rank_step", "The step that a main process has told last (--progress).");
  add(&TaskReport::saved_step, "rank_saved_step",
      "The step that it has told to be saved (--progress).");
}

void add_lost(Families& families, const JobReport& report) {
  if (report.lost.empty()) return;
  families.begin("log_lost_lines", "counter", "Lines that did not get where they were to go.");
  for (const LostOutput& one : report.lost) {
    families.sample(std::to_string(one.lines), label("to", one.to));
  }
}

}  // namespace

std::string metrics_text(const JobReport& report, std::int64_t now_ms) {
  Families families;
  add_job(families, report, now_ms);
  add_ranks(families, report, now_ms);
  add_steps(families, report);
  add_lost(families, report);
  if (!report.health.empty()) {
    families.one("healthy", "0 when the last round of health checks has found something.",
                 report.health == "ok" ? 1 : 0);
  }
  return std::move(families).take();
}

}  // namespace engine
