#pragma once
// One event of a timeline, a line of events.jsonl. The engine writes it, `trainit report` reads it.
// Members with unknown values are left out.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

// Name of the timeline in the run directory.
inline constexpr const char* kEventsFile = "events.jsonl";

struct TimelineEvent {
  std::int64_t at_ms = 0;  // wall clock, UTC
  std::string event;
  int node = -1;
  std::string task = {};  // name of the task; "": the event is about no task
  std::string kind = {};  // kind of the task, as in TaskReport
  int rank = -1;
  std::uint32_t incarnation = 0;
  int pid = 0;
  int exit_code = -1;
  std::string signal = {};
  // Begin of the stage or task that ended at at_ms; 0: the event has no duration.
  std::int64_t since_ms = 0;
  std::string text = {};

  bool operator==(const TimelineEvent&) const = default;
};
void fields(base::FieldVisitor& v, TimelineEvent& event);

// Returns the line with its newline; credentials in `text` are masked.
std::string event_line(const TimelineEvent& event);
// Parses a line. Returns nullopt if it is not an event, for example because it is cut.
std::optional<TimelineEvent> read_event_line(std::string_view line);

}  // namespace engine
