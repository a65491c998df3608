#include "init/engine/report/flight_recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/printed_text.h"
#include "base/text.h"
#include "init/sys/as_user.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

constexpr std::size_t kMostEntries = 65536;  // of a directory
constexpr std::size_t kMostTextBytes = 600;

void find_beside(const std::string& prefix, std::int64_t since_ms, Dumps& found, int& lowest) {
  constexpr std::int64_t kTickMs = 20;  // a file's time lags behind the clock
  const std::size_t slash = prefix.rfind('/');
  if (slash == std::string::npos) return;
  const std::string directory = prefix.substr(0, slash + 1);
  const std::string name = prefix.substr(slash + 1);
  sys::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return;
  const sys::Dir entries(::fdopendir(fd.get()));
  if (!entries) return;
  const int at = fd.release();
  for (std::size_t i = 0; i < kMostEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return;
    const std::string_view whole = entry->d_name;
    if (!whole.starts_with(name)) continue;
    const auto rank = envgen::parse_count<int>(whole.substr(name.size()));
    struct stat status{};
    if (!rank || ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t written_ms =
        std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    if (!S_ISREG(status.st_mode) || status.st_size == 0) continue;
    if (written_ms + kTickMs < since_ms) continue;
    if (found.count++ > 0 && *rank >= lowest) continue;
    lowest = *rank;
    found.first = directory + entry->d_name;
  }
}

}  // namespace

DumpOrder dump_order(const Job& job) {
  DumpOrder order{.prefixes = job.plan.observe.traces, .job = job.plan.sandbox.identity};
  for (const TaskRecord& record : job.records) {
    if (!is_main(record) || record.started_ms == 0) continue;
    const bool earlier = order.since_ms == 0 || record.started_ms < order.since_ms;
    if (earlier) order.since_ms = record.started_ms;
  }
  return order;
}

Dumps find_dumps(const DumpOrder& order) {
  // What the job's user has put there is looked at with that user's rights.
  std::optional<sys::AsUser> as_job;
  if (!sys::take_rights(order.job, as_job)) return {};
  Dumps found;
  int lowest = 0;
  for (const std::string& prefix : order.prefixes) {
    find_beside(prefix, order.since_ms, found, lowest);
  }
  return found;
}

std::string dumps_text(const Dumps& dumps) {
  if (dumps.count == 0) return "";
  const std::string first = envgen::plain_text(dumps.first);
  const bool several = dumps.count > 1;
  std::string text = several ? "the flight recorder's dumps " : "the flight recorder's dump ";
  text += first;
  if (several) text += " and " + std::to_string(dumps.count - 1) + " more";
  text += several ? ": read them with `" : ": read it with `";
  text += "python -m torch.distributed.flight_recorder.fr_trace ";
  text += first.substr(0, first.rfind('/') + 1) + "`";
  return std::string(envgen::cut_text(text, kMostTextBytes));
}

}  // namespace engine
