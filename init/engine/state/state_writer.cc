#include "init/engine/state/state_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/printed_text.h"
#include "init/engine/state/metrics.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

// Writes the state over the old file, which needs no free space if the state is not larger. Leaves
// out parts of the report, the largest first, until the rest fits.
void write_in_place(const std::string& path, JobReport report) {
  constexpr std::size_t kMaxTextBytes = 200;
  static constexpr void (*kCuts[])(JobReport& report) = {
      [](JobReport& all) {
        all.failure.last_lines.clear();
        if (all.failure.cause) all.failure.cause->traceback.clear();
      },
      [](JobReport& all) {
        all.tasks.clear();
        all.data.clear();
        all.warnings.clear();
        all.failure.torn_down.clear();
      },
      [](JobReport& all) {
        all.health.clear();
        all.first_failure.resize(base::cut_text(all.first_failure, kMaxTextBytes).size());
      },
  };
  for (const auto cut : kCuts) {
    if (sys::overwrite_file(path, state_to_json(report))) return;
    cut(report);
  }
  sys::overwrite_file(path, state_to_json(report));
}

}  // namespace

void StateWriter::open(const base::Environ& env) {
  run_dir_ = sys::open_run_dir(env);
  // If a user may not write to /run, that is only logged at debug level, not at each start.
  if (run_dir_.path.empty()) {
    sys::log::warning("no run directory, so no status: " + run_dir_.note);
  } else if (!run_dir_.lock.valid()) {
    sys::log::warning(run_dir_.note +
                      ", and no directory can be made in it: this one has no status");
    run_dir_.path.clear();
  } else if (run_dir_.second) {
    sys::log::info(run_dir_.note);
  } else if (!run_dir_.note.empty()) {
    sys::log::debug(run_dir_.note);
  }
  if (!run_dir_.lock.valid()) return;
  place_.directory = std::move(run_dir_.directory);
  metrics_ms_ = sys::monotonic_ms();
}

void StateWriter::serve() {
  if (!run_dir_.lock.valid()) return;
  auto control = ControlServer::open(run_dir_.path);
  if (!control) {
    sys::log::warning(to_line(control.error()) + ", ignoring");
    return;
  }
  control_ = std::move(*control);
}

void StateWriter::write(const JobReport& report, bool last) {
  if (!due()) return;
  changed_ = false;
  auto status = replace(kStateFile, state_to_json(report));
  if (!status && !lost_) sys::log::warning(to_line(status.error()) + ", ignoring");
  lost_ = !status;  // so a full disk is logged once, not at each change
  // The last state must be written, even if not atomically.
  if (!status && last) write_in_place(run_dir_.path + "/" + kStateFile, report);
}

namespace {

// Returns true if `path` still names the directory that is open as `directory`. If it was deleted
// and created again, it is a different one.
bool is_still(const sys::Fd& directory, const std::string& path) {
  struct stat held{};
  struct stat there{};
  return ::fstat(directory.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

}  // namespace

base::Status StateWriter::replace(const char* name, std::string_view content) {
  const std::string path = run_dir_.path + "/" + name;
  if (is_still(place_.directory, run_dir_.path)) {
    place_.name = name;
    return sys::write_file_atomic(place_, path, 0644, content, sys::Lifetime::kMachine);
  }
  auto reached = sys::resolve_safely(path);
  if (!reached) return sys::write_file_atomic(path, 0644, content);  // returns the error
  place_ = std::move(*reached);
  return sys::write_file_atomic(place_, path, 0644, content, sys::Lifetime::kMachine);
}

std::optional<std::int64_t> StateWriter::metrics_due_ms(bool watched) const {
  constexpr std::int64_t kSettleMs = 1000;
  // The metric of the time without output grows even if nothing else changes.
  constexpr std::int64_t kRefreshMs = 15'000;
  if (!run_dir_.lock.valid() || (!metrics_changed_ && !watched)) return std::nullopt;
  return metrics_ms_ + (metrics_changed_ ? kSettleMs : kRefreshMs);
}

// Logs an error only at debug level, because write() already warns of a full disk.
void StateWriter::write_metrics(const JobReport& report) {
  metrics_changed_ = false;
  metrics_ms_ = sys::monotonic_ms();
  auto status = replace(kMetricsFile, metrics_text(report, sys::wall_ms()));
  if (!status) sys::log::debug(to_line(status.error()) + ", ignoring");
}

void StateWriter::close() {
  if (run_dir_.lock.valid()) ::unlink((run_dir_.path + "/control").c_str());
  constexpr std::int64_t kFarewellMs = 1000;
  control_.see_off(kFarewellMs);
}

}  // namespace engine
