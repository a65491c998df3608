#pragma once
// One event of a timeline as a line of events.jsonl: written by the engine, read by `trainit
// report`. What is not known is left out.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

inline constexpr const char* kEventsFile = "events.jsonl";  // in the run directory

struct TimelineEvent {
  std::int64_t at_ms = 0;  // wall clock, UTC
  std::string event;
  int node = -1;
  std::string task = {};  // its name
  std::string kind = {};  // of the task, at its start: as in TaskReport
  int rank = -1;
  std::uint32_t incarnation = 0;
  int pid = 0;
  int exit_code = -1;
  std::string signal = {};
  std::int64_t since_ms = 0;  // of what has lasted until at_ms
  std::string text = {};

  bool operator==(const TimelineEvent&) const = default;
};
void fields(envgen::FieldVisitor& v, TimelineEvent& event);

// With its newline; credentials in `text` are masked.
std::string event_line(const TimelineEvent& event);
// nullopt: a line that is no event, as a torn one.
std::optional<TimelineEvent> read_event_line(std::string_view line);

}  // namespace engine
