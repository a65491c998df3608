#include "init/engine/monitor/stack_job.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/wire.h"
#include "init/engine/cluster/hang_dumps.h"
#include "init/engine/monitor/hang_diagnostics.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::uint32_t kVerdict = 1;
constexpr std::uint32_t kMaxMessageBytes = 64U << 10;
constexpr std::int64_t kSpareMs = 4000;  // time beyond StackOrder::most_ms: to judge and to write

StackMessage message_of(const TakenStacks& taken, const envgen::StackVerdict& verdict,
                        const std::string& notes) {
  std::vector<envgen::PlacedRank> places = envgen::places_of(taken.seen);
  for (std::size_t i = 0; i < places.size(); ++i) places[i].process = taken.processes[i];
  StackMessage message{.suspects = {},
                       .text = verdict.text,
                       .places = envgen::encode_places(places),
                       .notes = notes};
  for (const std::size_t rank : verdict.suspects) {
    const std::uint32_t process = taken.processes[rank];
    if (std::ranges::find(message.suspects, process) == message.suspects.end()) {
      message.suspects.push_back(process);
    }
  }
  return message;
}

void write_file(const std::string& path, const std::string& text) {
  constexpr std::uint32_t kMode = 0600;
  auto status = sys::write_file_atomic(path, kMode, text);
  if (!status) sys::log::warning(to_line(status.error()) + ", ignoring");
}

std::string ending_text(const lifecycle::ExitStatus& exit_status) {
  if (exit_status.how == lifecycle::ExitStatus::How::kSignaled) {
    return "has ended by " + std::string(proc::signal_name(exit_status.value));
  }
  return "has ended with code " + std::to_string(exit_status.value);
}

}  // namespace

StackJob::StackJob() : ChildWorker(kVerdict, kMaxMessageBytes) {}

base::Status StackJob::start(const StackOrder& order, const std::string& files,
                             const proc::SavedSignals& saved) {
  news_.reset();
  const auto body = [&](int fd) {
    const std::int64_t until_ms = sys::monotonic_ms() + order.most_ms;
    const AskedDumps asked = ask_for_dumps(order);
    TakenStacks taken = take_stacks(order);
    add_ras_note(order, until_ms, taken.seen);
    const std::string notes = base::joined(taken.seen.notes, ". ");
    const auto dumps = add_recorder_note(order, asked, until_ms, taken.seen);
    if (!order.recorder.empty()) write_dumps(order.recorder, dumps);
    const envgen::StackVerdict verdict = envgen::judge_stacks(taken.seen);
    // The message is sent before the files are written, so that they do not delay the verdict.
    const bool said = send_message(fd, kVerdict, base::to_wire(message_of(taken, verdict, notes)));
    if (!files.empty()) {
      std::ignore = sys::make_directories(files.substr(0, files.rfind('/')), 0755);
      write_file(files + ".json", envgen::stacks_to_json(taken.seen, verdict));
      write_file(files + ".txt", envgen::stacks_to_text(taken.seen, verdict));
    }
    return said ? 0 : 1;
  };
  TRY(fork("taking stacks", saved, body));
  deadline_ms_ = sys::monotonic_ms() + order.most_ms + kSpareMs;
  return {};
}

ChildWorker::Heard StackJob::on_message(std::uint32_t /*kind*/, std::string_view bytes) {
  auto message = base::from_wire<StackMessage>(bytes);
  if (!message) return Heard::kDamaged;
  news_ = std::move(*message);
  return Heard::kMore;
}

void StackJob::on_overdue() { deadline_ms_.reset(); }

std::string stacks_directory(const std::string& run_dir) {
  return run_dir.empty() ? "" : run_dir + "/stacks";
}

StackOrder stack_order(const Job& job, const std::string& run_dir) {
  StackOrder order;
  if (job.plan.observe.stacks) order.directory = stacks_directory(run_dir);
  order.job = job.plan.sandbox.identity;
  order.whole = job.plan.node_count <= 1;
  if (job.plan.link) order.recorder = recorder_file(run_dir);
  order.nccl_ras = job.plan.observe.nccl_ras;
  order.trace_pipes = job.plan.observe.trace_pipes;
  order.dumps = dump_order(job);
  order.world_size = order.dumps.world_size;
  for (const TaskRecord& record : job.records) {
    if (!is_main(record)) continue;
    StackTarget target{.process = static_cast<std::uint32_t>(record.process),
                       .pid = record.pid,
                       .name = record.name};
    if (const envgen::Process* process = planned(job, record)) target.rank = process->rank;
    if (record.pid <= 0) {
      target.ended = record.exit_status ? ending_text(*record.exit_status) : "does not run";
    }
    order.targets.push_back(std::move(target));
  }
  return order;
}

}  // namespace engine
