#include "init/engine/tasks/env_files.h"

#include <utility>

#include "base/secrets/secrets.h"
#include "init/engine/tasks/start.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

// Delay of a write after the last start of a process, so that it does not slow down the starts.
constexpr std::int64_t kBehindStartMs = 20;
// Time-out of a write, because the files may be on a mount that hangs.
constexpr std::int64_t kLongestMs = 10'000;

bool has_file(const Job& job, const TaskRecord& record) {
  const envgen::Process* process = planned(job, record);
  return process != nullptr && !process->env_file.empty();
}

// Returns one line per variable; line breaks and backslashes in a value are escaped.
std::string lines_of(const base::Environ& env, base::EntryMask& mask) {
  std::string lines;
  for (const std::string& entry : env.entries()) {
    for (const char c : mask.of(entry)) {
      if (c == '\n') {
        lines += "\\n";
      } else if (c == '\r') {
        lines += "\\r";
      } else if (c == '\\') {
        lines += "\\\\";
      } else {
        lines += c;
      }
    }
    lines += '\n';
  }
  return lines;
}

}  // namespace

void write_env_files(const Job& job, const StartContext& context) {
  constexpr std::uint32_t kMode = 0600;
  const base::Environ common = common_env(job, context, true);
  StartContext shared = context;
  shared.common = &common;
  base::EntryMask mask;
  for (const TaskRecord& record : job.records) {
    if (!has_file(job, record) || record.started_ms == 0) continue;
    proc::SpawnSpec spec = spec_of(job, record, shared);
    if (spec.inherited_fds > 0 && record.pid > 0) {
      spec.env.set("LISTEN_PID", std::to_string(record.pid));
    }
    const std::string& path = planned(job, record)->env_file;
    const envgen::Identity* who =
        spec.sandbox != nullptr && spec.sandbox->identity ? &*spec.sandbox->identity : nullptr;
    auto saved = sys::with_rights_of(who, path, {}, [&](const sys::SafePath& place) {
      return sys::write_file_atomic(place, path, kMode, lines_of(spec.env, mask));
    });
    if (!saved && saved.error().what == "following a path") saved.error().what = "writing a file";
    if (!saved) sys::log::warning(to_line(saved.error()) + ", ignoring");
  }
}

void EnvFiles::note_start(const TaskRecord& record) {
  if (!has_file(context_.job, record)) return;
  again_ = pid_ > 0;
  if (!again_) begin_ms_ = sys::monotonic_ms() + kBehindStartMs;
}

std::optional<std::int64_t> EnvFiles::deadline_ms() const {
  return begin_ms_ ? begin_ms_ : deadline_ms_;
}

void EnvFiles::tend(std::int64_t now_ms) {
  if (begin_ms_ && now_ms >= *begin_ms_) write();
  ChildWorker::tend(now_ms);
}

void EnvFiles::write() {
  begin_ms_.reset();
  auto status = fork("saving the environments", context_.saved, [this](int /*fd*/) {
    write_env_files(context_.job, context_.start_context());
    return 0;
  });
  if (!status) return sys::log::warning(to_line(status.error()) + ", ignoring");
  context_.job.helpers.push_back(pid_);
  deadline_ms_ = sys::monotonic_ms() + kLongestMs;
}

void EnvFiles::on_overdue() {
  sys::log::warning("saving the environments: not done after " + std::to_string(kLongestMs / 1000) +
                    " s, ignoring");
}

void EnvFiles::on_exit(const proc::Death& /*death*/) {
  if (std::exchange(again_, false)) begin_ms_ = sys::monotonic_ms();
}

void EnvFiles::finish(std::int64_t most_ms) {
  await(most_ms);
  if (!begin_ms_ && !again_) return;
  kill();  // only one process writes at a time, so that the files are those of the last write
  write();
  await(most_ms);
}

}  // namespace engine
