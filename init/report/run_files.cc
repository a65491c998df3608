#include "init/report/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/secrets/secrets.h"
#include "base/text.h"
#include "init/engine/report/output_tail.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"

namespace report {
namespace {

constexpr std::string_view kStem = "events";
constexpr std::string_view kEnding = ".jsonl";
constexpr std::size_t kMaxText = 256U << 10;  // limit for a plan or a file of stacks
constexpr std::size_t kMaxEvents = 16U << 20;
constexpr std::size_t kMaxStacks = 64;
constexpr std::int64_t kLatestMs = 253'402'300'799'999;  // end of the year 9999

// Returns "-node1" for "events-node1.jsonl"; nullopt if the name is not that of an events file.
std::optional<std::string> suffix_of(const std::string& name) {
  if (!name.starts_with(kStem) || !name.ends_with(kEnding)) return std::nullopt;
  if (name.size() < kStem.size() + kEnding.size()) return std::nullopt;
  std::string suffix = name.substr(kStem.size(), name.size() - kStem.size() - kEnding.size());
  if (!suffix.empty() && !suffix.starts_with("-node")) return std::nullopt;
  return suffix;
}

// Returns "state-node1.json" for "state.json" and "-node1".
std::string with_suffix(std::string_view name, const std::string& suffix) {
  const std::size_t dot = name.rfind('.');
  return std::string(name.substr(0, dot)) + suffix + std::string(name.substr(dot));
}

bool is_time(std::int64_t ms) { return ms >= 0 && ms <= kLatestMs; }

void read_events(std::string_view text, NodeRun& run) {
  std::size_t damaged = 0;
  while (!text.empty()) {
    const std::string_view line = base::take_line(text);
    if (line.empty()) continue;
    auto event = engine::read_event_line(line);
    if (event && is_time(event->at_ms) && is_time(event->since_ms)) {
      run.events.push_back(std::move(*event));
    } else {
      ++damaged;
    }
  }
  if (damaged > 0) {
    run.problems.push_back(std::to_string(damaged) + " lines of its timeline cannot be read");
  }
}

// Returns true for the name of a rank's file, such as "rank-3.log" or "rank-3.txt". A state that
// another user has written could name any file.
bool is_name_of_log(std::string_view name) {
  constexpr std::string_view kRank = "rank-";
  if (!name.starts_with(kRank)) return false;
  name.remove_prefix(kRank.size());
  const std::size_t dot = std::min(name.find('.'), name.size());
  const std::string_view ending = name.substr(dot);
  return base::is_digits(name.substr(0, dot)) && (ending == ".log" || ending == ".txt");
}

// Returns the last lines of a rank. The rank's file is next to the events. In a run directory it
// can also be at the path in the state.
std::vector<std::string> lines_of_rank(const std::string& directory, bool is_run_dir,
                                       const engine::TaskReport& task) {
  const std::string name = task.log.substr(task.log.rfind('/') + 1);
  if (!is_name_of_log(name)) return {};
  std::vector<std::string> paths = {directory + "/logs/" + name, directory + "/" + name};
  if (is_run_dir) paths.push_back(task.log);
  for (const std::string& path : paths) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto printed = engine::last_bytes_in(path, nullptr, task.started_ms);
    auto lines = engine::last_lines_of(printed.bytes, printed.whole);
    if (!lines.empty()) return lines;
  }
  return {};
}

void read_outputs(const std::string& directory, bool is_run_dir, NodeRun& run) {
  if (!run.state) return;
  for (const engine::TaskReport& task : run.state->tasks) {
    if (task.kind != "main" || task.log.empty()) continue;
    const auto lines = lines_of_rank(directory, is_run_dir, task);
    if (!lines.empty()) run.outputs.push_back({task.name, base::joined(lines, "\n")});
  }
}

// Returns the content of a regular file, at most `most` bytes; "" for anything different. Does not
// follow a symlink, because another user may have made the directory.
std::string text_at(const std::string& path, std::size_t most) {
  const sys::Fd file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(std::min(most, static_cast<std::size_t>(status.st_size)), '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

// Reads the stacks that were taken during the run. An earlier run may have left its own.
void read_stacks(const std::string& directory, NodeRun& run) {
  const std::string path = directory + "/stacks";
  const std::int64_t begin_ms = run.events.empty() ? 0 : run.events.front().at_ms;
  std::vector<std::string> names = sys::inspect(path, true).entries;
  for (const std::string& name : names) {
    if (run.stacks.size() == kMaxStacks) return;
    struct stat status{};
    const bool known = ::lstat((path + "/" + name).c_str(), &status) == 0;
    if (!known || (status.st_mtime + 1) * std::int64_t{1000} < begin_ms) continue;
    std::string text = base::mask_printed(text_at(path + "/" + name, kMaxText));
    if (!text.empty()) run.stacks.push_back({name, std::move(text)});
  }
}

NodeRun read_run(const std::string& directory, const std::string& name, const std::string& suffix) {
  NodeRun run{.path = directory + "/" + name};
  read_events(text_at(run.path, kMaxEvents), run);
  const std::string state_path = directory + "/" + with_suffix(engine::kStateFile, suffix);
  const std::string state_text = text_at(state_path, kMaxEvents);
  if (!state_text.empty()) {
    auto state = engine::state_from_json(state_text, state_path);
    if (!state) run.problems.push_back(to_line(state.error()));
    if (state) run.state = std::move(*state);
  }
  // A command that trainit only starts writes a state, but no events.
  if (run.state && !run.events.empty() && run.state->started_ms > run.events.back().at_ms) {
    run.problems.push_back(state_path + " is of a later command, `" + run.state->command +
                           "`, which is not in this report");
    run.state.reset();
  }
  const std::string plan = directory + "/" + with_suffix(engine::kPlanFile, suffix);
  run.plan = base::mask_secrets(text_at(plan, kMaxText));
  read_outputs(directory, suffix.empty(), run);
  if (suffix.empty()) read_stacks(directory, run);
  return run;
}

}  // namespace

base::Result<std::vector<NodeRun>> read_runs(const std::string& directory) {
  const envgen::PathState found = sys::inspect(directory, true);
  std::vector<std::string> names = found.entries;
  std::vector<NodeRun> runs;
  for (const std::string& name : names) {
    if (const auto suffix = suffix_of(name)) runs.push_back(read_run(directory, name, *suffix));
  }
  std::erase_if(runs, [](const NodeRun& run) { return run.events.empty(); });
  if (!runs.empty()) return runs;
  const std::string what =
      found.kind == envgen::PathState::Kind::kDirectory ? "no events.jsonl with an event in it"
      : found.kind == envgen::PathState::Kind::kError   ? sys::errno_text(found.error)
                                                        : "no directory";
  return base::fail("making a report", directory, what,
                    "name a run directory, or one that --timeline copied a job's events to");
}

}  // namespace report
