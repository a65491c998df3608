#include "init/engine/data/data_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/copy/cache/cache.h"
#include "init/copy/progress_view.h"
#include "init/engine/data/data_messages.h"
#include "init/engine/workers/messages.h"
#include "init/sandbox/prepare.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/permission.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

constexpr std::int64_t kProgressEveryMs = 500;
// The time-out of a process that works at the source (at_source).
constexpr int kAfterwardsMs = 5000;

void warn(int socket, const std::string& text) {
  send_data_message(socket, {.kind = DataMessage::Kind::kWarning, .text = text});
}

// A reporter that sends the progress to PID 1, and shows it in the log or on the terminal.
class Reporter {
 public:
  Reporter(const DataOrder& order, int socket)
      : socket_(socket), places_(places_of(order.dataset)) {
    if (sys::log::has_screen()) return;  // no view here: PID 1 draws on the screen (wait_view.h)
    view_.emplace("data " + order.dataset.name, places_,
                  [](std::string_view line) { sys::log::info(line); });
  }

  void report(const copy::Report& report) {
    if (report.counters != nullptr && view_) view_->show(*report.counters, report.waiting);
    if (report.counters != nullptr && !view_) {
      const std::string line = stalls_.next(copy::stall_of(*report.counters), places_);
      if (!line.empty()) warn(socket_, line);
    }
    const std::int64_t now_ms = sys::monotonic_ms();
    const auto phase =
        report.counters == nullptr ? copy::Phase::kScanning : report.counters->phase.load();
    // A change of the phase or of `waiting` is reported at once, other changes every
    // kProgressEveryMs.
    const bool same = phase == last_.phase && report.waiting == last_.waiting;
    if (same && now_ms < next_ms_) return;
    last_ = {phase, report.waiting};
    next_ms_ = now_ms + kProgressEveryMs;
    DataMessage message;
    message.progress.phase = static_cast<std::uint32_t>(phase);
    message.progress.waiting = report.waiting;
    if (report.counters != nullptr) {
      message.progress.entries = report.counters->entries.load();
      message.progress.bytes = report.counters->bytes.load();
      message.progress.total_entries = report.counters->total_entries.load();
      message.progress.total_bytes = report.counters->total_bytes.load();
      const copy::Stall stall = copy::stall_of(*report.counters);
      message.progress.stalled_side = static_cast<std::uint32_t>(stall.side);
      message.progress.stalled_ms = static_cast<std::uint64_t>(stall.for_ms);
    }
    send_data_message(socket_, message);
  }

 private:
  struct Said {
    copy::Phase phase = copy::Phase::kDone;
    bool waiting = false;
  };
  int socket_;
  copy::CopyPlaces places_;
  copy::StallLines stalls_;
  std::optional<copy::ProgressView> view_;
  Said last_;
  std::int64_t next_ms_ = 0;
};

std::string temporary_name(const std::string& path) {
  return path + ".trainit-" + std::to_string(::getpid());
}

// Makes the symlink at the dataset's source point to `copy` (--data-link). At each moment the old
// or the new link exists. Returns "" on success, otherwise a warning.
std::string replace_link(const envgen::Dataset& dataset, const std::string& copy) {
  const std::string& place = dataset.source;
  const auto reached = sys::resolve_safely(place);
  if (!reached) return "--data-link: " + to_line(reached.error()) + ", ignoring";
  if (::geteuid() == 0 && !reached->untrusted_directory.empty()) {
    return "--data-link: " + place + ": others may change it by " + reached->untrusted_directory +
           ", so it stays as it is: make the link where only root may write";
  }
  const int directory = reached->directory.get();
  const char* name = reached->name.c_str();
  struct stat status{};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return "--data-link: " + place + ": " + sys::errno_text(errno) + ", ignoring";
  }
  if (!S_ISLNK(status.st_mode)) {
    return "--data-link: " + place +
           " is no symbolic link, so it stays as it is: mount the data elsewhere and make a link "
           "to it there, or let the job read " +
           dataset.variable;
  }
  std::array<char, PATH_MAX> old{};
  const ssize_t size = ::readlinkat(directory, name, old.data(), old.size());
  if (size > 0 && std::string_view(old.data(), static_cast<std::size_t>(size)) == copy) return "";
  const std::string made = temporary_name(reached->name);
  const bool done = ::symlinkat(copy.c_str(), directory, made.c_str()) == 0 &&
                    ::renameat(directory, made.c_str(), directory, name) == 0;
  if (done) return "";
  const int error = errno;
  ::unlinkat(directory, made.c_str(), 0);
  return "--data-link: replacing " + place + ": " + sys::errno_text(error) +
         ", so it stays as it is: let its directory be written";
}

// Does the work at the source after the copy is ready: it warns if the source is writable, and
// replaces the link for --data-link. Each message in `pipe` is a warning.
int see_to_source(const DataOrder& order, const std::string& copy, int pipe) {
  const envgen::Dataset& dataset = order.dataset;
  struct statvfs mount{};
  if (::statvfs(dataset.source.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) == 0) {
    send_message(pipe, 1,
                 base::concat({"the source ", dataset.source,
                               " is writable: mount it read-only, so that no job can modify "
                               "it"}));
  }
  if (order.request.data.link) {
    const std::string wrong = replace_link(dataset, copy);
    if (!wrong.empty()) send_message(pipe, 1, wrong);
  }
  return 0;
}

// Runs `body` in a further process, because the source may hang. Passes its messages to `hear`.
// Blocks for at most kAfterwardsMs.
void at_source(const DataOrder& order, int socket, const std::function<int(int pipe)>& body,
               const std::function<void(std::string text)>& hear) {
  const auto work = [&body](int pipe) {
    sys::leave_callers_descriptors();
    return body(pipe);
  };
  auto worker = fork_messenger("looking at the source of the data", order.saved, work);
  if (!worker) return warn(socket, to_line(worker.error()) + ", ignoring");
  constexpr std::uint32_t kMaxBytes = 16U << 10;
  MessagePipe messages(std::move(worker->pipe), 1, kMaxBytes);
  const std::int64_t until_ms = sys::monotonic_ms() + kAfterwardsMs;
  while (!messages.at_end()) {
    if (!sys::await_ready(messages.pipe().get(), POLLIN, until_ms)) {
      ::kill(worker->pid, SIGKILL);
      return warn(socket, order.dataset.source + " does not answer any more, ignoring");
    }
    messages.read([&](std::uint32_t /*kind*/, std::string_view text) {
      hear(std::string(text));
      return true;
    });
  }
}

void finish_at_source(const DataOrder& order, const std::string& copy, int socket) {
  at_source(
      order, socket, [&](int pipe) { return see_to_source(order, copy, pipe); },
      [socket](const std::string& text) { warn(socket, text); });
}

// True if the job itself could not read the source either: the name is wrong, the mount is missing,
// or the job's user has no permission.
bool is_missing(const DataOrder& order, const envgen::Identity* job, int socket) {
  bool missing = false;
  const auto look = [&order, job](int pipe) {
    const std::string& source = order.dataset.source;
    std::optional<sys::AsUser> user;
    if (job != nullptr && ::geteuid() == 0) user.emplace(*job);
    struct stat status{};
    const bool there = ::stat(source.c_str(), &status) == 0;
    const int needed = there && S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK;
    if (there && sys::may_access(AT_FDCWD, source.c_str(), needed)) return 0;
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) send_message(pipe, 1, "missing");
    return 0;
  };
  at_source(order, socket, look, [&missing](const std::string&) { missing = true; });
  return missing;
}

// Returns the user who must be able to read the job's files; nullopt if that is trainit's own user.
base::Result<std::optional<envgen::Identity>> job_of(const envgen::Request& request) {
  if (request.sandbox.user.empty()) return std::nullopt;
  envgen::SandboxRequest user;
  user.user = request.sandbox.user;
  TRY_ASSIGN(const auto prepared, sandbox::prepare(user, false));
  return prepared.sandbox.identity;
}

int say_failed(int socket, const base::Error& error, DataMessage::Kind kind, int code) {
  send_data_message(socket, {.kind = kind, .exit_code = code, .text = to_line(error)});
  return 1;
}

}  // namespace

int prepare_data(const DataOrder& order, int socket) {
  const std::int64_t began_ms = sys::monotonic_ms();
  // If trainit's caller has left SIGCHLD ignored, no exit of a child could be seen.
  ::signal(SIGCHLD, SIG_DFL);
  const auto job = job_of(order.request);
  if (!job)
    return say_failed(socket, job.error(), DataMessage::Kind::kFailed, exit_code::kOwnFailure);
  std::optional<copy::Owner> owner;
  if (*job) owner = copy::Owner{.uid = (*job)->uid, .gid = (*job)->gid};
  Reporter reporter(order, socket);
  auto prepared = copy::prepare_dataset(
      {.dataset = order.dataset,
       .request = order.request.data,
       .owner = owner,
       .job_user = *job ? &**job : nullptr,
       .report = [&reporter](const copy::Report& report) { reporter.report(report); }});
  if (!prepared) {
    const std::int64_t timeout_ms = order.request.data.timeout_ms;
    const bool late = timeout_ms > 0 && sys::monotonic_ms() - began_ms >= timeout_ms;
    if (late)
      return say_failed(socket, prepared.error(), DataMessage::Kind::kFailed,
                        exit_code::kUnavailable);
    const auto kind = is_missing(order, *job ? &**job : nullptr, socket)
                          ? DataMessage::Kind::kMissing
                          : DataMessage::Kind::kFailed;
    return say_failed(socket, prepared.error(), kind, exit_code::kOwnFailure);
  }
  for (const std::string& warning : prepared->warnings) warn(socket, warning);
  DataMessage ready{
      .kind = DataMessage::Kind::kReady, .path = prepared->path, .text = prepared->how};
  ready.progress.phase = static_cast<std::uint32_t>(copy::Phase::kDone);
  ready.progress.entries = ready.progress.total_entries = prepared->size.entries;
  ready.progress.bytes = ready.progress.total_bytes = prepared->size.bytes;
  send_data_message(socket, ready, prepared->lease.get());
  finish_at_source(order, prepared->path, socket);
  return 0;
}

}  // namespace engine
