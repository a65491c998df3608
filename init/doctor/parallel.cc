#include "init/doctor/parallel.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "base/characters/utf8.h"
#include "init/proc/child_run.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

constexpr std::size_t kMaxBytes = 4UL << 20;  // limit for the results of a part
constexpr std::int64_t kReapMs = 50;
constexpr const char* kDefect = "this is a defect of trainit: report it";

struct Run {
  std::optional<proc::ChildRun> child;  // nullopt: the child could not be started
  std::string fault;                    // why it could not be started
  bool no_room = false;                 // the system allows no further process
  bool done = false;
};

// Replaces bytes that are not UTF-8. A tool's text and a mount's name can be any bytes, but XML
// must be UTF-8.
void make_utf8(std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = base::utf8_length(std::string_view(text).substr(at));
    if (length == 0) text[at] = '?';
    at += std::max<std::size_t>(length, 1);
  }
}

Run start(const Part& part, std::int64_t limit_ms) {
  const auto body = [&part](int fd) {
    Results results = part.run();
    for (CheckResult& result : results) {
      result.check = part.check;
      for (std::string* field : {&result.place, &result.found, &result.fix}) make_utf8(*field);
    }
    const std::string bytes = encode_results(results);
    return sys::write_all(fd, bytes) == bytes.size() ? 0 : 1;
  };
  Run run;
  auto child = proc::ChildRun::start({.time_ms = limit_ms, .most_bytes = kMaxBytes}, body);
  if (child) {
    run.child.emplace(std::move(*child));
  } else {
    run.fault = child.error().found;
    run.no_room = run.fault.contains("EAGAIN");
    run.done = true;
  }
  return run;
}

std::size_t count_running(const std::vector<Run>& runs) {
  return static_cast<std::size_t>(std::ranges::count(runs, false, &Run::done));
}

// Blocks until a child has sent data, has ended or is late. ChildRun::wait() is not used, because
// it waits for only one child.
void collect(std::vector<Run>& runs) {
  std::vector<pollfd> waits;
  std::int64_t look_ms = INT64_MAX;
  for (const Run& run : runs) {
    if (run.done) continue;
    waits.push_back({run.child->fd(), POLLIN, 0});
    look_ms = std::min(look_ms, run.child->next_look_ms());
  }
  const std::int64_t left_ms = std::max<std::int64_t>(look_ms - sys::monotonic_ms(), 0);
  ::poll(waits.data(), waits.size(), static_cast<int>(left_ms));
  for (Run& run : runs) {
    if (run.done) continue;
    run.done = run.child->step();
    // Reaps the child to make room for the next one. A child in D state is left to the next reaper.
    if (run.done) run.child->end(kReapMs);
  }
}

Results failed(const Part& part, std::string found, std::string fix) {
  return {{part.check, part.place, CheckStatus::kFailed, std::move(found), std::move(fix)}};
}

Results results_of(const Part& part, const Run& run) {
  if (!run.fault.empty()) {
    return failed(part, "no process could be started for the check: " + run.fault,
                  "see the limits of processes and memory");
  }
  if (run.child->late()) {
    return failed(part, run.child->cut_short(),
                  "see what hangs there: a mount whose server is gone, a driver, a name server");
  }
  const auto& exited = run.child->exited();
  if (exited && exited->si_pid > 0 && exited->si_code != CLD_EXITED) {
    return failed(part, "the check was ended by " + proc::signal_name(exited->si_status),
                  exited->si_status == SIGSYS
                      ? "a seccomp profile kills for a call: let it answer with an error"
                      : kDefect);
  }
  auto results = decode_results(run.child->output());
  if (!results) return failed(part, results.error().found, kDefect);
  if (results->empty()) return failed(part, "the check said nothing", kDefect);
  return std::move(*results);
}

}  // namespace

std::vector<Results> run_parts(std::span<const Part> parts, std::int64_t limit_ms,
                               std::size_t most_at_once) {
  ::signal(SIGCHLD, SIG_DFL);  // waiting for a child fails if a caller ignores it
  std::vector<Run> runs;
  runs.reserve(parts.size());
  while (runs.size() < parts.size() || count_running(runs) > 0) {
    while (runs.size() < parts.size() && count_running(runs) < most_at_once) {
      Run run = start(parts[runs.size()], limit_ms);
      // The system allows no further process: waits until a running part ends.
      if (run.no_room && count_running(runs) > 0) break;
      runs.push_back(std::move(run));
    }
    if (count_running(runs) > 0) collect(runs);
  }
  std::vector<Results> lists;
  lists.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    lists.push_back(results_of(parts[i], runs[i]));
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
