#include "init/engine/report/trace.h"

#include <algorithm>
#include <utility>

#include "base/secrets.h"

namespace engine {
namespace {

namespace json = envgen::json;

constexpr std::int64_t kMicroseconds = 1000;  // of a millisecond

void write_known(json::Writer& out, const char* name, std::int64_t value, std::int64_t none) {
  if (value != none) out.key(name).integer(value);
}

void write_known(json::Writer& out, const char* name, std::string_view value) {
  if (!value.empty()) out.key(name).string(value);
}

void write_arguments(json::Writer& out, const TraceEvent& event) {
  out.key("args").begin_object();
  if (event.phase == 'M') {
    out.key("name").string(event.text);
  } else {
    write_known(out, "rank", event.rank, -1);
    write_known(out, "incarnation", event.incarnation, 0);
    write_known(out, "exit_code", event.exit_code, -1);
    write_known(out, "signal", event.signal);
    write_known(out, "text", envgen::mask_secrets(event.text));
  }
  out.end_object();
}

}  // namespace

std::string event_line(const TimelineEvent& event) {
  json::Writer out(false);
  out.begin_object();
  out.key("ts_ms").integer(event.at_ms);
  out.key("event").string(event.event);
  write_known(out, "node", event.node, -1);
  write_known(out, "task", event.task);
  write_known(out, "rank", event.rank, -1);
  write_known(out, "incarnation", event.incarnation, 0);
  write_known(out, "pid", event.pid, 0);
  write_known(out, "exit_code", event.exit_code, -1);
  write_known(out, "signal", event.signal);
  write_known(out, "text", envgen::mask_secrets(event.text));
  out.end_object();
  return std::move(out).take() + "\n";
}

std::string trace_event(const TraceEvent& event, int node) {
  json::Writer out(false);
  out.begin_object();
  out.key("ph").string(std::string_view(&event.phase, 1));
  out.key("name").string(event.name);
  out.key("pid").integer(node);
  out.key("tid").integer(event.thread);
  if (event.phase != 'M') {
    out.key("cat").string(event.category);
    out.key("ts").integer(event.start_ms * kMicroseconds);
  }
  if (event.phase == 'X') {
    out.key("dur").integer(std::max<std::int64_t>(event.end_ms - event.start_ms, 0) *
                           kMicroseconds);
  }
  if (event.phase == 'i') out.key("s").string(event.thread == 0 ? "p" : "t");
  write_arguments(out, event);
  out.end_object();
  return std::move(out).take();
}

}  // namespace engine
