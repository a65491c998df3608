#include "init/engine/tasks/write_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "init/proc/tree.h"
#include "init/sys/fd.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::uint32_t kWrites = 1;
constexpr int kLookMs = 250;
// A checkpoint is larger, and a rank prints less in kLookMs.
constexpr std::uint64_t kMostPrinted = 64U << 10;

// Returns the mains and the processes below them.
std::set<pid_t> tree_of(const std::vector<pid_t>& mains) {
  std::set<pid_t> tree(mains.begin(), mains.end());
  const std::vector<proc::Member> all = proc::all_processes();
  std::size_t size = 0;
  while (std::exchange(size, tree.size()) != tree.size()) {
    for (const proc::Member& member : all) {
      if (tree.contains(member.parent)) tree.insert(member.pid);
    }
  }
  return tree;
}

// Sends a message each time that a process has written. Does not return before PID 1 kills it.
int watch_writes(const std::vector<pid_t>& mains, int fd) {
  if (!proc::has_own_proc()) return 1;
  Written before = written_below(mains);
  while (true) {
    ::poll(nullptr, 0, kLookMs);
    Written now = written_below(mains);
    if (has_written(before, now) && !send_message(fd, kWrites, "")) return 0;
    before = std::move(now);
  }
}

}  // namespace

std::optional<std::uint64_t> written_bytes(std::string_view io) {
  while (!io.empty()) {
    const std::string_view line = base::take_line(io);
    constexpr std::string_view kKey = "wchar: ";
    if (!line.starts_with(kKey)) continue;
    std::uint64_t bytes = 0;
    const char* end = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data() + kKey.size(), end, bytes);
    if (error == std::errc() && at == end) return bytes;
  }
  return std::nullopt;
}

Written written_below(const std::vector<pid_t>& mains) {
  Written written;
  for (const pid_t pid : tree_of(mains)) {
    const std::string path = "/proc/" + std::to_string(pid) + "/io";
    errno = 0;
    const std::string text = proc::read_small(path);
    if (text.empty() && errno != EACCES && errno != EPERM) continue;  // the process has exited
    written.emplace(pid, written_bytes(text));
  }
  return written;
}

bool has_written(const Written& before, const Written& now) {
  return std::ranges::any_of(now, [&](const auto& process) {
    const auto& [pid, bytes] = process;
    if (!bytes) return true;
    const auto found = before.find(pid);
    const std::uint64_t had = found == before.end() ? 0 : found->second.value_or(*bytes);
    return *bytes > had && *bytes - had > kMostPrinted;
  });
}

WriteWatch::WriteWatch(const WorkerContext& context) : ChildWorker(kWrites), context_(context) {}

void WriteWatch::stepped() {
  keep(context_.machine.cuts_grace(), [&] {
    const std::vector<pid_t> mains = main_pids(context_.job);
    auto status = fork("watching what the ranks write", context_.saved,
                       [&](int fd) { return watch_writes(mains, fd); });
    if (status) return;
    sys::log::warning(to_line(status.error()) + ", so the ranks keep the whole grace period");
    context_.post(lifecycle::event::TaskWrites{.unknown = true});
  });
}

ChildWorker::Heard WriteWatch::on_message(std::uint32_t /*kind*/, std::string_view /*bytes*/) {
  context_.post(lifecycle::event::TaskWrites{});
  return Heard::kMore;
}

void WriteWatch::on_silence(bool /*damaged*/) {
  if (context_.machine.cuts_grace()) context_.post(lifecycle::event::TaskWrites{.unknown = true});
}

}  // namespace engine
