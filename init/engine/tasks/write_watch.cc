#include "init/engine/tasks/write_watch.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "init/proc/load.h"
#include "init/proc/tree.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

enum Message : std::uint32_t { kWrites = 1, kNothing = 2 };
constexpr std::int64_t kLookMs = 250;
// The time within which a look must end. A look waits for processes that execute a program.
constexpr std::int64_t kLookTimeoutMs = 1500;
// A checkpoint is larger, and a rank prints less in kLookMs.
constexpr std::uint64_t kMaxPrinted = 64U << 10;

std::set<pid_t> below(const std::vector<pid_t>& mains) {
  std::set<pid_t> pids;
  for (const auto& tree : proc::trees_of(proc::all_loads(), mains)) {
    for (const proc::Load& process : tree) pids.insert(process.pid);
  }
  return pids;
}

// Sends a message for each look. Does not return before PID 1 kills it.
int watch_writes(const std::vector<pid_t>& mains, int fd) {
  if (!proc::has_own_proc()) return 1;
  Written before;
  Written now = written_below(mains);
  bool writes = std::ranges::any_of(now, [](const auto& process) { return !process.second; });
  while (send_message(fd, writes ? kWrites : kNothing, "")) {
    sys::pause_ms(kLookMs);
    before = std::exchange(now, written_below(mains));
    writes = has_written(before, now);
  }
  return 0;
}

// Returns the number behind `key` at the begin of the line, or nullopt.
std::optional<std::uint64_t> number_behind(std::string_view key, std::string_view line) {
  if (!line.starts_with(key)) return std::nullopt;
  return base::parse_count<std::uint64_t>(line.substr(key.size()));
}

}  // namespace

std::optional<std::uint64_t> written_bytes(std::string_view io) {
  std::optional<std::uint64_t> calls;
  std::optional<std::uint64_t> disk;
  while (!io.empty()) {
    const std::string_view line = base::take_line(io);
    if (!calls) calls = number_behind("wchar: ", line);
    if (!disk) disk = number_behind("write_bytes: ", line);
  }
  if (!calls) return std::nullopt;
  return *calls + disk.value_or(0);
}

Written written_below(const std::vector<pid_t>& mains) {
  Written written;
  for (const pid_t pid : below(mains)) {
    const std::optional<std::uint64_t> bytes =
        written_bytes(proc::read_small("/proc/" + std::to_string(pid) + "/io"));
    const std::optional<proc::Member> process = proc::find_member(pid);
    if (!process || process->exits) continue;
    written.emplace(pid, process->state == 'D' ? std::nullopt : bytes);
  }
  return written;
}

bool has_written(const Written& before, const Written& now) {
  return std::ranges::any_of(now, [&](const auto& process) {
    const auto& [pid, bytes] = process;
    if (!bytes) return true;
    const auto found = before.find(pid);
    const std::uint64_t had = found == before.end() ? 0 : found->second.value_or(*bytes);
    return *bytes > had && *bytes - had > kMaxPrinted;
  });
}

WriteWatch::WriteWatch(const WorkerContext& context) : ChildWorker(kNothing), context_(context) {}

void WriteWatch::stepped() {
  keep(context_.machine.cuts_grace(), [&] {
    const std::vector<pid_t> mains = main_pids(context_.job);
    auto status = fork("watching what the ranks write", context_.saved,
                       [&](int fd) { return watch_writes(mains, fd); });
    if (status) return await_look();
    sys::log::warning(to_line(status.error()) + ", so the ranks keep the whole grace period");
    context_.post(lifecycle::event::TaskWrites{.unknown = true});
  });
}

// If no message comes in this time, it is not known what the ranks write. That must be clear before
// their KILL.
void WriteWatch::await_look() {
  const std::int64_t limit_ms =
      std::min(kLookTimeoutMs, context_.job.plan.policy.failure_grace_ms / 2);
  deadline_ms_ = sys::monotonic_ms() + limit_ms;
}

// Reads messages that came in time, if trainit itself was suspended.
void WriteWatch::tend(std::int64_t now_ms) {
  if (deadline_ms_ && now_ms >= *deadline_ms_) read();
  ChildWorker::tend(now_ms);
}

ChildWorker::Heard WriteWatch::on_message(std::uint32_t kind, std::string_view /*bytes*/) {
  await_look();
  if (kind == kWrites) context_.post(lifecycle::event::TaskWrites{});
  return Heard::kMore;
}

void WriteWatch::on_silence(bool /*damaged*/) { give_up(); }

void WriteWatch::on_overdue() {
  kill();
  give_up();
}

void WriteWatch::give_up() {
  deadline_ms_.reset();
  if (context_.machine.cuts_grace()) context_.post(lifecycle::event::TaskWrites{.unknown = true});
}

}  // namespace engine
