#include "init/engine/report/wait_view.h"

#include <algorithm>

#include "base/characters/utf8.h"
#include "base/printed_text.h"
#include "init/engine/state/status_text.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kSecondMs = 1000;
// The pauses between log lines: a job that waits for hours must not fill the log, however often the
// reason changes. From line kAtOnce on, a pause follows each line: kFirstPauseMs at first, then
// twice the previous pause, up to kMaxPauseMs.
constexpr int kAtOnce = 4;
constexpr std::int64_t kFirstPauseMs = 2000;
constexpr std::int64_t kMaxPauseMs = 60'000;

using State = DataRecord::State;

// Returns whether a status line may be drawn: only before the first start, and not while hooks draw
// their own lines. A job that has run may still use the screen.
bool has_screen_to_itself(const Job& job, const lifecycle::Machine& machine) {
  if (machine.phase() != lifecycle::Phase::kPreparing || machine.restarts() > 0) return false;
  const auto& tasks = machine.tasks();
  for (std::size_t i = 0; i < std::min(tasks.size(), job.records.size()); ++i) {
    if (job.records[i].event && tasks[i].live()) return false;
  }
  return true;
}

// Cuts `text` to `columns`, with ">" as the last one if some are left out.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t size = 0;
  std::size_t last = 0;  // index of the last column's first byte
  for (std::size_t has = 0; size < text.size(); ++has) {
    if (has == columns) return columns == 0 ? "" : text.substr(0, last) + ">";
    last = size;
    size += std::max<std::size_t>(base::utf8_length(std::string_view(text).substr(size)), 1);
  }
  return text;
}

const DataRecord* copied(const Job& job) {
  const auto found = std::ranges::find(job.data, State::kRunning, &DataRecord::state);
  return found == job.data.end() ? nullptr : &*found;
}

// Returns "data imagenet", or "data imagenet (2 of 3)" if the job has several datasets.
std::string name_of(const Job& job, const DataRecord& data) {
  std::string text = "data " + base::escaped_text(data.dataset.name);
  if (job.data.size() < 2) return text;
  return text + " (" + std::to_string(&data - job.data.data() + 1) + " of " +
         std::to_string(job.data.size()) + ")";
}

}  // namespace

std::string wait_text(const Job& job, std::int64_t wall_ms, int columns) {
  const DataRecord* data = copied(job);
  // Leave the last column free, because some terminals then go to the next line.
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 0));
  if (job.waiting_for.empty()) {
    if (data == nullptr) return "";
    const std::string head = name_of(job, *data) + ": ";
    const int rest = columns - static_cast<int>(head.size());
    return cut(head + data_bar(*data, rest), room);
  }
  // The text may be cut, but not the duration after it.
  std::string tail = since_text(job.waiting_since_ms, wall_ms);
  if (data != nullptr) {
    tail += "; " + name_of(job, *data) + " " + std::to_string(data_percent(*data)) + "%";
  }
  const std::string head = "waiting for " + base::escaped_text(job.waiting_for);
  return cut(cut(head, room - std::min(room, tail.size())) + tail, room);
}

void WaitView::show(const Job& job, const lifecycle::Machine& machine) {
  due_ms_.reset();
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!sys::log::has_screen() || !has_screen_to_itself(job, machine)) {
    sys::log::set_status("");
    return say(job, now_ms);
  }
  const std::string text = wait_text(job, sys::wall_ms(), sys::log::status_columns());
  sys::log::set_status(text);
  said_ = job.waiting_for;
  if (!text.empty()) due_ms_ = now_ms + kSecondMs;
}

void WaitView::say(const Job& job, std::int64_t now_ms) {
  if (job.waiting_for == said_) return;
  if (job.waiting_for.empty()) {
    said_.clear();
    return;
  }
  if (now_ms < next_ms_) {
    due_ms_ = next_ms_;
    return;
  }
  sys::log::info("waiting for " + job.waiting_for +
                 since_text(job.waiting_since_ms, sys::wall_ms()));
  said_ = job.waiting_for;
  if (++lines_ >= kAtOnce) pause_ms_ = std::clamp(2 * pause_ms_, kFirstPauseMs, kMaxPauseMs);
  next_ms_ = now_ms + pause_ms_;
}

}  // namespace engine
