#pragma once
// The memory and the CPUs that the ranks of a node used over time, and the memory of its container.
// Made of the "resources" events (init/engine/monitor/resource_record.h). Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/report/timeline_event.h"

namespace report {

struct UsePoint {
  std::int64_t at_ms = 0;  // wall clock, UTC
  std::int64_t value = 0;
};
using UsePoints = std::vector<UsePoint>;  // ordered by time

struct RankUse {
  std::string name;
  // One list for each start of the rank. A start without a known value has an empty list.
  std::vector<UsePoints> memory_bytes;
  std::vector<UsePoints> cpu_hundredths;  // hundredths of a CPU
};

struct Resources {
  std::vector<RankUse> ranks;  // ordered by name
  UsePoints container_bytes;
  std::int64_t limit_bytes = -1;  // last limit of the container's memory; -1: none, or not known
};

Resources resources_of(const std::vector<engine::TimelineEvent>& events);

// Return the highest value; -1 without a value.
std::int64_t peak_of(const UsePoints& points);
std::int64_t peak_of(const std::vector<UsePoints>& starts);

// Returns at most `most` points, at least 1. Of points that lie beside each other the highest one
// is kept, so a short peak stays visible.
UsePoints thinned(const UsePoints& points, std::size_t most);

}  // namespace report
