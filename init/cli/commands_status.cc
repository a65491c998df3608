// status: shows the state file of the running instance, or of the last one.

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/engine/cluster/link_status.h"
#include "init/engine/report/timeline_event.h"
#include "init/engine/state/state.h"
#include "init/engine/state/status_text.h"
#include "init/proc/child_run.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr int kWatchPollMs = 200;
constexpr std::int64_t kRedrawMs = 1000;  // the shown ages grow with time
constexpr int kMaxLookMs = 500;

// Returns 0 if the job runs or succeeded, 1 if it failed or is held, 2 without an instance.
int code_of(const engine::JobReport& report, bool in_use) {
  if (!in_use && report.exit_code < 0) return kNoInstance;  // killed before the code was written
  if (report.exit_code > 0 || report.state == "error" || report.state == "expired" ||
      report.phase == "hold")
    return 1;
  return 0;
}

struct Look {
  std::string text;  // content of the state file
  bool in_use = false;
};

Look look_at(const std::string& run_dir) {
  Look look;
  if (run_dir.empty()) return look;
  look.in_use = sys::run_dir_in_use(run_dir);
  look.text = sys::inspect(run_dir + "/" + engine::kStateFile, true).content;
  return look;
}

std::int64_t written_ms(const std::string& path) {
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

// Fills in when each task last wrote to its output file. A child does it: a user may look at a job
// that hangs because of the mount with these files.
void add_ages(std::vector<engine::TaskReport>& tasks) {
  // Children of earlier looks: a job that is watched for days must not leave one child a second.
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  auto run = proc::ChildRun::start({.time_ms = kMaxLookMs}, [&tasks](int fd) {
    for (const engine::TaskReport& task : tasks) {
      const std::int64_t ms = task.log == engine::kHookOutput ? 0 : written_ms(task.log);
      if (::write(fd, &ms, sizeof ms) != static_cast<ssize_t>(sizeof ms)) break;
    }
    return 0;
  });
  if (!run) return;
  run->wait();
  run->end(0);
  std::string_view answers = run->output();
  for (engine::TaskReport& task : tasks) {
    std::int64_t ms = 0;
    if (answers.size() < sizeof ms) break;
    std::memcpy(&ms, answers.data(), sizeof ms);
    answers.remove_prefix(sizeof ms);
    // Older text in the file is from an earlier process.
    if (ms >= task.started_ms && task.started_ms > 0) task.last_output_ms = ms;
  }
}

engine::TextStyle style_of(const base::Environ& env) {
  engine::TextStyle style;
  if (::isatty(STDOUT_FILENO) != 1) return style;
  // https://no-color.org
  style.colour = env.get_or("NO_COLOR", "").empty() && env.get_or("TERM", "") != "dumb";
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

// Returns the last `rows` lines, whose end says what matters most. 0 = all.
std::string_view last_rows(std::string_view text, std::size_t rows) {
  if (rows == 0) return text;
  std::size_t at = text.size();
  for (std::size_t row = 0; row < rows && at > 0; ++row) {
    at = at < 2 ? 0 : text.rfind('\n', at - 2) + 1;
  }
  return text.substr(at);
}

// Returns the text to draw over the previous one, as far as the screen has room. The text clears
// the rest of each line, and everything below.
std::string redrawn(std::string_view text) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
  text = last_rows(text, known ? size.ws_row - 1U : 0);
  std::string screen = "\033[H";
  for (const char c : text) {
    if (c == '\n') screen += "\033[K";
    screen += c;
  }
  return screen + "\033[J";
}

struct View {
  const std::string& run_dir;
  const Options& options;
  engine::TextStyle style;
  bool redraws = false;
};

int show(const Look& look, const View& view) {
  if (look.text.empty()) return no_instance("asking for the status", view.run_dir);
  auto report = engine::state_from_json(look.text, view.run_dir + "/" + engine::kStateFile);
  if (!report) return complain(report.error());
  const int code = code_of(*report, look.in_use);
  add_ages(report->tasks);
  engine::TextStyle style = view.style;
  // Not every job has this file, and one of an earlier run must not be used.
  const std::int64_t told_ms = written_ms(view.run_dir + "/" + engine::kEventsFile);
  style.timeline = told_ms > 0 && told_ms >= report->started_ms;
  std::string text = view.options.json ? engine::state_to_json(*report)
                                       : engine::state_to_text(*report, sys::wall_ms(), style);
  if (code == kNoInstance && !view.options.json) {
    text += "no instance runs: it was killed before it could end the job\n";
  }
  const int printed = print_as_is(view.redraws ? redrawn(text) : text);
  return printed == 0 ? code : printed;
}

// Returns 0 if all nodes are well, 1 if a node has failed or is not connected, 2 without an
// instance.
int show_nodes(const View& view) {
  if (view.run_dir.empty()) return no_instance("asking for the status of all nodes", view.run_dir);
  auto rows = engine::ask_nodes(view.run_dir + "/" + engine::kLinkSocketName);
  if (!rows) {
    complain(rows.error());
    return kNoInstance;
  }
  const std::string text =
      view.options.json ? engine::nodes_to_json(*rows) : engine::nodes_to_text(*rows);
  const int printed = print_as_is(view.redraws ? redrawn(text) : text);
  return printed != 0 ? printed : engine::all_well(*rows) ? 0 : 1;
}

int watch_nodes(const View& view) {
  if (view.redraws) print_as_is("\033[2J");
  int code = show_nodes(view);
  while (view.options.watch && code <= 1) {
    sys::pause_ms(kRedrawMs);
    code = show_nodes(view);
  }
  return code;
}

}  // namespace

int status_command(Call& call) {
  const Options& options = call.options;
  std::optional<sys::AsUser> rights;
  const auto asked = asked_run_dir(call.options, call.env, rights);
  if (!asked) return complain(asked.error());
  const std::string& run_dir = *asked;
  View view{run_dir, options, style_of(call.env)};
  view.redraws = options.watch && !options.json && ::isatty(STDOUT_FILENO) == 1;
  if (options.all_nodes) return watch_nodes(view);
  Look last = look_at(run_dir);
  if (view.redraws) print_as_is("\033[2J");
  int code = show(last, view);
  std::int64_t shown_ms = sys::monotonic_ms();
  while (options.watch && last.in_use && code != kFailed) {
    sys::pause_ms(kWatchPollMs);
    Look now = look_at(run_dir);
    const bool changed = now.text != last.text || now.in_use != last.in_use;
    const bool aged = view.redraws && sys::monotonic_ms() - shown_ms >= kRedrawMs;
    last = std::move(now);
    if (!changed && !aged) continue;
    view.style = style_of(call.env);  // the window's size may have changed
    code = show(last, view);
    shown_ms = sys::monotonic_ms();
  }
  return code;
}

}  // namespace cli
