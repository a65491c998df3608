#include "init/engine/monitor/step_record.h"

#include <algorithm>
#include <string>

#include "init/engine/monitor/line_watch.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

// Returns "rank-0 40 120", the step and the milliseconds since it was reported. " first 16" follows
// in the first record of a start, " saved 30" after a checkpoint.
std::string entry(const std::string& name, const LineSlot& slot, StepLog::Rank& known) {
  // The tee writes the slot meanwhile.
  const auto steps = slot.steps.load();
  const auto saved_ms = slot.saved_ms.load();
  std::string text = name + " " + std::to_string(steps > 0 ? slot.step.load() : -1) + " ";
  const std::int64_t age_ms = sys::monotonic_ms() - slot.step_ms;
  text += std::to_string(steps > 0 ? std::max<std::int64_t>(age_ms, 0) : 0);
  if (known.steps == 0 && steps > 0) text += " first " + std::to_string(slot.first_step);
  if (known.saved_ms != saved_ms) text += " saved " + std::to_string(slot.saved);
  known = {.steps = steps, .saved_ms = saved_ms};
  return text;
}

}  // namespace

void record_steps(Job& job, Timeline& timeline, bool last) {
  StepLog& log = job.step_log;
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!job.lines || !log.pace.allows(now_ms, last)) return;
  log.ranks.resize(job.lines->size());
  std::string text;
  for (std::size_t i = 0; i < job.lines->size() && i < job.plan.processes.size(); ++i) {
    const LineSlot& slot = job.lines->slot(i);
    StepLog::Rank& known = log.ranks[i];
    if (slot.steps == known.steps && slot.saved_ms == known.saved_ms) continue;
    text += (text.empty() ? "" : ", ") + entry(job.plan.processes[i].name, slot, known);
  }
  if (last) log.ranks.clear();
  if (text.empty()) return;
  timeline.note("steps", text);
  log.pace.add(text.size(), now_ms);
}

}  // namespace engine
