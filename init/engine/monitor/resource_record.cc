#include "init/engine/monitor/resource_record.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "init/sys/clock.h"

namespace engine {
namespace {

std::string known_text(std::int64_t value) { return value < 0 ? "-" : std::to_string(value); }

std::string kib_text(std::int64_t bytes) { return known_text(bytes < 0 ? -1 : bytes / 1024); }

// Returns the CPUs used since the last record, in hundredths; -1: not known. The time falls if a
// process of the rank exits and no other process of the rank has waited for it.
std::int64_t cpus_of(const ResourceLog& log, const ResourceLog::Rank& rank) {
  const std::int64_t used_ms = rank.cpu_ms - rank.recorded_cpu_ms;
  const std::int64_t span_ms = log.at_ms - log.recorded_at_ms;
  if (rank.recorded_cpu_ms < 0 || used_ms < 0 || span_ms <= 0) return -1;
  return used_ms * 100 / span_ms;
}

void record(Job& job, Timeline& timeline, bool last) {
  ResourceLog& log = job.resource_log;
  const std::int64_t now_ms = sys::monotonic_ms();
  if (log.at_ms == log.recorded_at_ms || !log.pace.allows(now_ms, last)) return;
  std::string text = kib_text(log.peak_bytes) + " " + kib_text(log.limit_bytes) + " " +
                     std::to_string(std::max<std::int64_t>(now_ms - log.at_ms, 0));
  for (std::size_t i = 0; i < log.ranks.size() && i < job.plan.processes.size(); ++i) {
    ResourceLog::Rank& rank = log.ranks[i];
    if (rank.cpu_ms < 0) continue;
    text += ", " + job.plan.processes[i].name + " " + kib_text(rank.peak_bytes) + " " +
            known_text(cpus_of(log, rank));
    rank = {.recorded_cpu_ms = rank.cpu_ms};
  }
  timeline.note("resources", text);
  log.peak_bytes = -1;
  log.recorded_at_ms = log.at_ms;
  log.pace.add(text.size(), now_ms);
}

}  // namespace

void take_resources(Job& job, Timeline& timeline, const ResourceSample& sample) {
  ResourceLog& log = job.resource_log;
  log.ranks.resize(job.plan.processes.size());
  log.at_ms = sample.at_ms;
  log.peak_bytes = std::max(log.peak_bytes, sample.memory_bytes);
  log.limit_bytes = sample.limit_bytes;
  for (const RankResources& measured : sample.ranks) {
    if (measured.process >= log.ranks.size()) continue;
    ResourceLog::Rank& rank = log.ranks[measured.process];
    rank.peak_bytes = std::max(rank.peak_bytes, measured.memory_bytes);
    rank.cpu_ms = measured.cpu_ms;
  }
  record(job, timeline, false);
}

void end_resources(Job& job, Timeline& timeline) {
  record(job, timeline, true);
  job.resource_log.ranks.clear();
}

}  // namespace engine
