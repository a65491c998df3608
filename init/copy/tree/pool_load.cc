#include "init/copy/tree/pool_load.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "init/proc/tree.h"
#include "init/sys/clock.h"

namespace copy {
namespace {

// The kernel counts running time at its ticks. In a shorter time a process may have run without
// being counted.
constexpr std::int64_t kFirstPauseMs = 20;
constexpr std::int64_t kLongestPauseMs = 200;
// The number of processes is only reduced if they are clearly too many: a change costs more than
// one process too many.
constexpr double kTooMany = 1.25;

}  // namespace

CpuTimes cpu_times(const std::string& process) {
  const std::string text = proc::read_small("/proc/" + process + "/schedstat");
  std::string_view rest = text;
  const auto run = base::parse_number<std::int64_t>(base::take_part(rest, ' '));
  const auto queue = base::parse_number<std::int64_t>(base::take_part(rest, ' '));
  return {run.value_or(0), queue.value_or(0)};
}

void OwnWaits::forget() {
  begun_ms_ = sys::monotonic_ms();
  wanted_ns_ = cpu_times("self").wanted_ns();
  waits_ = false;
}

bool OwnWaits::look(std::int64_t now_ms) {
  const std::int64_t elapsed_ms = now_ms - begun_ms_;
  if (elapsed_ms < kFirstPauseMs) return waits_;
  const std::int64_t wanted_ns = cpu_times("self").wanted_ns();
  waits_ = 2 * (wanted_ns - wanted_ns_) < elapsed_ms * 1'000'000;
  begun_ms_ = now_ms;
  wanted_ns_ = wanted_ns;
  return waits_;
}

int wanted_workers(int working, double wanting, int cpus) {
  const double each = std::max(wanting, 0.1) / working;  // share of a CPU
  const auto fitting = static_cast<int>(std::lround(std::floor(cpus / each)));
  if (fitting > working) return std::min(fitting, 2 * working);
  return wanting > kTooMany * cpus ? std::max(fitting, 1) : working;
}

PoolLoad::PoolLoad(int cpus)
    : cpus_(cpus),
      sees_(proc::has_own_proc()),
      looked_ms_(sys::monotonic_ms()),
      pause_ms_(kFirstPauseMs) {}

double PoolLoad::wanting_ns(pid_t pid, double elapsed_ns) {
  const std::int64_t now_ns = sees_ ? cpu_times(std::to_string(pid)).wanted_ns() : 0;
  std::int64_t& before_ns = wanted_ns_[pid];
  const auto wanted_ns = static_cast<double>(now_ns - before_ns);
  before_ns = now_ns;
  if (!sees_ || 2 * wanted_ns >= elapsed_ns) return std::min(wanted_ns, elapsed_ns);
  // If the worker waits for a CPU now, its time is not counted yet.
  const auto seen = proc::find_member(pid);
  return seen && seen->state == 'R' ? elapsed_ns : wanted_ns;
}

int PoolLoad::look(const std::vector<pid_t>& working, std::int64_t now_ms, bool useful) {
  const auto elapsed_ns = static_cast<double>(now_ms - looked_ms_) * 1e6;
  looked_ms_ = now_ms;
  const auto count = static_cast<int>(working.size());
  double all_ns = 0;
  for (const pid_t pid : working) all_ns += wanting_ns(pid, elapsed_ns);
  int wanted = count;
  if (elapsed_ns > 0 && count > 0) wanted = wanted_workers(count, all_ns / elapsed_ns, cpus_);
  if (!useful) wanted = std::min(wanted, count);
  pause_ms_ = wanted == count ? std::min(2 * pause_ms_, kLongestPauseMs) : kFirstPauseMs;
  return wanted;
}

}  // namespace copy
