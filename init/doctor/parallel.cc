#include "init/doctor/parallel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "base/utf8.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

using envgen::CheckResult;
using envgen::Verdict;

constexpr std::size_t kMostBytes = 4UL << 20;  // of a part's results
constexpr const char* kDefect = "this is a defect of trainit: report it";

struct Run {
  pid_t pid = -1;
  sys::Fd pipe;  // valid: it runs
  std::string bytes;
  std::string fault;  // it could not be started
  std::int64_t deadline_ms = 0;
  int status = 0;
  bool no_room = false;  // for another process
  bool late = false;
  bool reaped = false;
};

// A tool's words and a mount's name may be any bytes, and XML is to be UTF-8.
void make_utf8(std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sys::utf8_length(std::string_view(text).substr(at));
    if (length == 0) text[at] = '?';
    at += std::max<std::size_t>(length, 1);
  }
}

Run start(const Part& part) {
  Run run;
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    run.fault = sys::errno_text(errno);
    return run;
  }
  run.pipe.reset(ends[0]);
  const sys::Fd write_end(ends[1]);
  auto pid = proc::fork_worker({}, write_end.get(), [&part, &write_end] {
    Results results = part.run();
    for (CheckResult& result : results) {
      result.check = part.check;
      for (std::string* field : {&result.place, &result.found, &result.fix}) make_utf8(*field);
    }
    const std::string bytes = encode_results(results);
    return sys::write_all(write_end.get(), bytes) == bytes.size() ? 0 : 1;
  });
  if (pid) {
    run.pid = *pid;
  } else {
    run.fault = pid.error().found;
    run.no_room = run.fault.contains("EAGAIN");
    run.pipe.reset();
  }
  return run;
}

void read_some(Run& run) {
  std::array<char, 16384> part;
  const ssize_t count = ::read(run.pipe.get(), part.data(), part.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0) run.bytes.append(part.data(), static_cast<std::size_t>(count));
  if (count <= 0 || run.bytes.size() > kMostBytes) run.pipe.reset();
}

// Reaps those that have ended, or get their SIGKILL; in D state one stays, and is the next
// reaper's.
void reap(std::vector<Run>& runs) {
  constexpr int kMostLooks = 50;
  constexpr int kLookMs = 10;
  for (int look = 0; look < kMostLooks; ++look) {
    bool waits = false;
    for (Run& run : runs) {
      if (run.pid <= 0 || run.reaped || run.pipe.valid()) continue;
      const pid_t ended = ::waitpid(run.pid, &run.status, WNOHANG);
      run.reaped = ended == run.pid || (ended < 0 && errno == ECHILD);
      waits = waits || !run.reaped;
    }
    if (!waits) return;
    ::poll(nullptr, 0, kLookMs);
  }
}

void end_late(Run& run) {
  run.late = true;
  ::kill(-run.pid, SIGKILL);
  ::kill(run.pid, SIGKILL);
  run.pipe.reset();
}

std::size_t count_running(const std::vector<Run>& runs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const Run& run) { return run.pipe.valid(); }));
}

// Until one has said something or ended, or is late.
void collect(std::vector<Run>& runs) {
  std::vector<pollfd> waits;
  std::int64_t deadline_ms = INT64_MAX;
  for (const Run& run : runs) {
    waits.push_back({run.pipe.get(), POLLIN, 0});
    if (run.pipe.valid()) deadline_ms = std::min(deadline_ms, run.deadline_ms);
  }
  const std::int64_t left_ms =
      std::clamp<std::int64_t>(deadline_ms - sys::monotonic_ms(), 0, INT_MAX);
  const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left_ms));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].pipe.valid()) continue;
    if (ready > 0 && waits[i].revents != 0) read_some(runs[i]);
    if (runs[i].pipe.valid() && sys::monotonic_ms() >= runs[i].deadline_ms) end_late(runs[i]);
  }
}

Results failed(const Part& part, std::string found, std::string fix) {
  return {{part.check, part.place, Verdict::kFailed, std::move(found), std::move(fix)}};
}

Results results_of(const Part& part, const Run& run, std::int64_t limit_ms) {
  if (!run.fault.empty()) {
    return failed(part, "no process could be started for the check: " + run.fault,
                  "see the limits of processes and memory");
  }
  if (run.late) {
    return failed(part, "no answer within " + std::to_string(limit_ms / 1000) + " s",
                  "see what hangs there: a mount whose server is gone, a driver, a name server");
  }
  if (run.reaped && WIFSIGNALED(run.status)) {
    return failed(part,
                  "the check was ended by " + std::string(proc::signal_name(WTERMSIG(run.status))),
                  WTERMSIG(run.status) == SIGSYS
                      ? "a seccomp profile kills for a call: let it answer with an error"
                      : kDefect);
  }
  auto results = envgen::decode_results(run.bytes);
  if (!results) return failed(part, results.error().found, kDefect);
  if (results->empty()) return failed(part, "the check said nothing", kDefect);
  return std::move(*results);
}

}  // namespace

std::vector<Results> run_parts(std::span<const Part> parts, std::int64_t limit_ms,
                               std::size_t most_at_once) {
  ::signal(SIGCHLD, SIG_DFL);  // a caller may have left it ignored: no end could be awaited
  std::vector<Run> runs;
  runs.reserve(parts.size());
  while (runs.size() < parts.size() || count_running(runs) > 0) {
    while (runs.size() < parts.size() && count_running(runs) < most_at_once) {
      Run run = start(parts[runs.size()]);
      // Its siblings have all the processes that there may be: one that ends makes room.
      if (run.pid < 0 && run.no_room && count_running(runs) > 0) break;
      run.deadline_ms = sys::monotonic_ms() + limit_ms;
      runs.push_back(std::move(run));
    }
    if (count_running(runs) > 0) collect(runs);
    if (runs.size() < parts.size()) reap(runs);
  }
  reap(runs);
  std::vector<Results> lists;
  lists.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    lists.push_back(results_of(parts[i], runs[i], limit_ms));
  }
  return lists;
}

Results run_all(std::span<const Part> parts, std::int64_t limit_ms, std::size_t most_at_once) {
  Results all;
  for (Results& list : run_parts(parts, limit_ms, most_at_once)) {
    for (CheckResult& result : list) all.push_back(std::move(result));
  }
  return all;
}

}  // namespace doctor
