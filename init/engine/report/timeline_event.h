#pragma once
// One event of a timeline as a line of events.jsonl: written by the engine, read by `trainit
// report`. Unknown values are left out.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

inline constexpr const char* kEventsFile = "events.jsonl";  // file in the run directory

struct TimelineEvent {
  std::int64_t at_ms = 0;  // wall clock, UTC
  std::string event;
  int node = -1;
  std::string task = {};  // the task's name
  std::string kind = {};  // kind of the task, at its start, as in TaskReport
  int rank = -1;
  std::uint32_t incarnation = 0;
  int pid = 0;
  int exit_code = -1;
  std::string signal = {};
  std::int64_t since_ms = 0;  // begin of a stage or task that ends at at_ms
  std::string text = {};

  bool operator==(const TimelineEvent&) const = default;
};
void fields(base::FieldVisitor& v, TimelineEvent& event);

// Returns the line with its newline; credentials in `text` are masked.
std::string event_line(const TimelineEvent& event);
// Returns nullopt for a line that is not an event, such as a torn one.
std::optional<TimelineEvent> read_event_line(std::string_view line);

}  // namespace engine
