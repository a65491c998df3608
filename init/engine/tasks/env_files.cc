#include "init/engine/tasks/env_files.h"

#include <utility>

#include "base/secrets.h"
#include "init/engine/tasks/start.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/reach.h"

namespace engine {
namespace {

// The processes come first.
constexpr std::int64_t kMomentMs = 3;

bool has_file(const Job& job, const TaskRecord& record) {
  const envgen::Process* process = planned(job, record);
  return process != nullptr && !process->env_file.empty();
}

}  // namespace

std::string environment_lines(const envgen::Environ& env) {
  std::string lines;
  for (const std::string& entry : env.entries()) {
    for (const char c : envgen::masked_entry(entry)) {
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

void write_env_files(const Job& job, const StartContext& context) {
  constexpr std::uint32_t kMode = 0600;
  for (const TaskRecord& record : job.records) {
    if (!has_file(job, record) || record.started_ms == 0) continue;
    proc::SpawnSpec spec = spec_of(job, record, context);
    if (spec.inherited_fds > 0 && record.pid > 0) {
      spec.env.set("LISTEN_PID", std::to_string(record.pid));
    }
    const std::string& path = planned(job, record)->env_file;
    const envgen::Identity* who =
        spec.sandbox != nullptr && spec.sandbox->identity ? &*spec.sandbox->identity : nullptr;
    auto saved = sys::with_rights_of(who, path, {}, [&](const sys::Reached& place) {
      return sys::write_file_atomic(place, path, kMode, environment_lines(spec.env));
    });
    if (!saved && saved.error().what == "following a path") saved.error().what = "writing a file";
    if (!saved) sys::log::warning(to_line(saved.error()) + ", ignoring");
  }
}

void EnvFiles::note_start(const TaskRecord& record) {
  if (!has_file(context_.job, record)) return;
  again_ = pid_ > 0;
  if (!again_ && !deadline_ms_) deadline_ms_ = sys::monotonic_ms() + kMomentMs;
}

void EnvFiles::tend(std::int64_t now_ms) {
  if (deadline_ms_ && now_ms >= *deadline_ms_) write();
}

void EnvFiles::write() {
  deadline_ms_.reset();
  auto status = fork("saving the environments", context_.saved, [this](int /*fd*/) {
    write_env_files(context_.job, context_.start_context());
    return 0;
  });
  if (!status) return sys::log::warning(to_line(status.error()) + ", ignoring");
  context_.job.helpers.push_back(pid_);
}

void EnvFiles::on_exit(const proc::Death& /*death*/) {
  if (std::exchange(again_, false)) deadline_ms_ = sys::monotonic_ms();
}

void EnvFiles::finish(std::int64_t most_ms) {
  if (deadline_ms_ || again_) write();
  await(most_ms);
}

}  // namespace engine
