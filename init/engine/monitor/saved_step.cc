#include "init/engine/monitor/saved_step.h"

#include <string>

#include "init/engine/monitor/line_watch.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

void await_end(const logtee::Shared& seen, std::size_t processes) {
  // Waits at most kLooks * kPauseMs: a process that a rank has left behind may hold the rank's
  // output open for ever.
  constexpr int kLooks = 120;
  constexpr int kPauseMs = 5;
  int looks = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    for (; looks < kLooks && !seen.ended(i); ++looks) sys::pause_ms(kPauseMs);
  }
}

// Returns the index of the rank with the lowest saved step, among those that reported one since
// `since_ms`. Returns the board's size if no rank did.
std::size_t least_saved(const LineBoard& board, std::int64_t since_ms) {
  std::size_t least = board.size();
  for (std::size_t i = 0; i < board.size(); ++i) {
    if (board.slot(i).saved_ms == 0 || board.slot(i).saved_ms < since_ms) continue;
    if (least == board.size() || board.slot(i).saved < board.slot(least).saved) least = i;
  }
  return least;
}

}  // namespace

void report_saved(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen,
                  Timeline& timeline, const char* termination_log) {
  if (job.start.save_asked_ms == 0 || !job.lines || !tells_saved(job.plan.observe)) return;
  const LineBoard& board = *job.lines;
  if (seen != nullptr) await_end(*seen, board.size());
  const std::size_t least = least_saved(board, job.start.save_asked_ms);
  std::string text = "perhaps no checkpoint: no rank has told that it has saved one (--progress)";
  if (least < board.size()) {
    text = "saved at step " + std::to_string(board.slot(least).saved) + ", as " +
           job.plan.processes[least].name + " has told";
    sys::log::info(text);
  } else if (job.plan.node_count > 1) {
    text = "no rank of this node has told that it has saved a checkpoint (--progress)";
    sys::log::info(text);  // no warning, as a rank of another node may have reported it
  } else {
    sys::log::warning(text);
  }
  timeline.note("saved", text);
  // Only if the job ended for the checkpoint. Otherwise the termination message is about another
  // reason.
  if (machine.rescheduled()) add_to_termination_log(termination_log, "trainit: " + text + "\n");
}

}  // namespace engine
