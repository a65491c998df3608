#pragma once
// The forms of a timeline, as text: JSON lines for programs, and Chrome's trace events
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which Perfetto
// and chrome://tracing open. In a trace a node is a process and a task one of its threads; times
// are microseconds of the wall clock, so that the traces of several nodes can be joined.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace engine {

// One line of events.jsonl; what is not known is left out.
struct TimelineEvent {
  std::int64_t at_ms = 0;  // wall clock, UTC
  const char* event = "";
  int node = -1;
  std::string_view task = {};  // its name
  int rank = -1;
  std::uint32_t incarnation = 0;
  int pid = 0;
  int exit_code = -1;
  std::string_view signal = {};
  std::string_view text = {};
};
// With its newline; credentials in `text` are masked.
std::string event_line(const TimelineEvent& event);

// One item of a trace's "traceEvents".
struct TraceEvent {
  char phase = 'X';  // 'X': a span; 'i': a moment; 'M': a name
  std::string name = {};
  const char* category = "";
  std::int64_t start_ms = 0;
  std::int64_t end_ms = 0;  // of a span
  std::uint32_t thread = 0;
  std::uint32_t incarnation = 0;  // 0: left out, as what follows
  int rank = -1;
  int exit_code = -1;
  std::string signal = {};
  std::string text = {};  // of an 'M': the name that is given
};
std::string trace_event(const TraceEvent& event, int node);

// What stands before the first item, between two, and behind the last.
inline constexpr std::string_view kTraceHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
inline constexpr std::string_view kTraceBetween = ",\n";
inline constexpr std::string_view kTraceTail = "\n]}\n";

}  // namespace engine
