#include "init/engine/report/flight_recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/printed_text.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/failure/pickle.h"
#include "envgen/failure/recorder_verdict.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

constexpr std::size_t kMaxEntries = 65536;  // limit of the entries that are read of a directory
constexpr std::size_t kMaxTextBytes = 600;
constexpr std::size_t kMaxFiles = 1024;
constexpr std::size_t kMaxFileBytes = envgen::DataTree::kMaxBytes;
constexpr std::size_t kMaxAllBytes = std::size_t{256} << 20;

void find_beside(const std::string& prefix, std::int64_t since_ms, Dumps& found) {
  constexpr std::int64_t kTickMs = 20;  // a file's time can lag behind the clock by one tick
  const std::size_t slash = prefix.rfind('/');
  if (slash == std::string::npos) return;
  const std::string directory = prefix.substr(0, slash + 1);
  const std::string name = prefix.substr(slash + 1);
  sys::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return;
  const sys::Dir entries(::fdopendir(fd.get()));
  if (!entries) return;
  const int at = fd.release();
  for (std::size_t i = 0; i < kMaxEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return;
    const std::string_view whole = entry->d_name;
    if (!whole.starts_with(name)) continue;
    const auto rank = base::parse_count<int>(whole.substr(name.size()));
    struct stat status{};
    if (!rank || ::fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t written_ms =
        std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    if (!S_ISREG(status.st_mode) || status.st_size == 0) continue;
    if (written_ms + kTickMs < since_ms) continue;
    found.files.push_back({*rank, directory + entry->d_name, written_ms});
  }
}

// Reads a whole file into `bytes`. Returns false if it cannot be read, is not a regular file, or is
// larger than `most_bytes`.
bool read_dump(const std::string& path, std::size_t most_bytes, std::string& bytes) {
  bytes.clear();
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::array<char, 65536> part;
  while (bytes.size() <= most_bytes) {
    const ssize_t count = ::read(fd.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return true;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  return false;
}

// Names the dumps: "/d/trace_0 and 7 more".
std::string paths_text(const Dumps& dumps) {
  std::string text = base::plain_text(dumps.files.front().path);
  if (dumps.count > 1) text += " and " + std::to_string(dumps.count - 1) + " more";
  return text;
}

// Returns a text with the command that reads the dumps:
// "the flight recorder's dumps /d/trace_0 and 7 more: read them with `python -m ... /d/`".
std::string command_text(const Dumps& dumps, const std::string& where) {
  const bool several = dumps.count > 1;
  const std::string first = base::plain_text(dumps.files.front().path);
  return (several ? "the flight recorder's dumps" : "the flight recorder's dump") + where + " " +
         paths_text(dumps) + (several ? ": read them with `" : ": read it with `") +
         "python -m torch.distributed.flight_recorder.fr_trace " +
         first.substr(0, first.rfind('/') + 1) + "`";
}

std::string findings_text(const Dumps& dumps, const envgen::RecorderVerdict& verdict,
                          std::size_t unreadable, const std::string& where) {
  std::string text;
  if (!verdict.text.empty()) text = "the flight recorder: " + verdict.text;
  if (verdict.culprits.empty()) {
    text += (text.empty() ? "" : "; ") + command_text(dumps, where);
  } else {
    text += dumps.count > 1 ? " (dumps" : " (dump";
    text += where + " " + paths_text(dumps) + ")";
    if (unreadable > 0) {
      text += "; " + std::to_string(unreadable) + " of " + std::to_string(dumps.count) +
              " dumps could not be read";
    }
  }
  return std::string(base::cut_text(text, kMaxTextBytes));
}

}  // namespace

DumpOrder dump_order(const Job& job) {
  DumpOrder order{.prefixes = job.plan.observe.traces, .job = job.plan.sandbox.identity};
  const auto& processes = job.plan.processes;
  if (!processes.empty() && processes.front().rank >= 0) order.world_size = job.plan.world_size;
  for (const TaskRecord& record : job.records) {
    if (!is_main(record) || record.started_ms == 0) continue;
    const bool earlier = order.since_ms == 0 || record.started_ms < order.since_ms;
    if (earlier) order.since_ms = record.started_ms;
  }
  return order;
}

Dumps find_dumps(const DumpOrder& order) {
  // Look for files of the job only with the rights of its user.
  std::optional<sys::AsUser> as_job;
  if (!sys::take_rights(order.job, as_job)) return {};
  Dumps found;
  for (const std::string& prefix : order.prefixes) find_beside(prefix, order.since_ms, found);
  base::stable_sort(found.files, std::less(), &RecorderFile::rank);
  found.count = found.files.size();
  if (found.count > kMaxFiles) found.files.resize(kMaxFiles);
  return found;
}

RecorderFindings read_dumps(const DumpOrder& order, std::int64_t until_ms,
                            const std::string& where) {
  const Dumps found = find_dumps(order);
  if (found.count == 0) return {};
  std::optional<sys::AsUser> as_job;
  if (!sys::take_rights(order.job, as_job)) return {};
  std::vector<envgen::RecorderDump> dumps;
  std::string bytes;
  std::size_t left_bytes = kMaxAllBytes;
  for (const RecorderFile& file : found.files) {
    if (sys::monotonic_ms() >= until_ms) break;
    if (!read_dump(file.path, std::min(kMaxFileBytes, left_bytes), bytes)) continue;
    left_bytes -= bytes.size();
    auto dump = envgen::read_recorder_dump(bytes, file.rank, file.path, file.written_ms);
    if (dump) dumps.push_back(std::move(*dump));
  }
  const envgen::RecorderVerdict verdict = envgen::judge_recorder(dumps, order.world_size);
  const std::size_t unreadable = found.count - dumps.size();
  return {.dumps = std::move(dumps),
          .culprits = verdict.culprits,
          .unreadable = unreadable,
          .text = findings_text(found, verdict, unreadable, where)};
}

}  // namespace engine
