#include "init/engine/report/timeline_event.h"

#include <utility>

#include "base/json.h"
#include "base/json_fields.h"

namespace engine {

void fields(base::FieldVisitor& v, TimelineEvent& event) {
  constexpr base::Rule kKnown{.omit = true, .may_miss = true};
  constexpr base::Rule kMasked{.omit = true, .may_miss = true, .masked = true};
  v("ts_ms", event.at_ms);
  v("event", event.event);
  v.when(event.node >= 0, "node", event.node, kKnown);
  v("task", event.task, kKnown);
  v("kind", event.kind, kKnown);
  v.when(event.rank >= 0, "rank", event.rank, kKnown);
  v("incarnation", event.incarnation, kKnown);
  v("pid", event.pid, kKnown);
  v.when(event.exit_code >= 0, "exit_code", event.exit_code, kKnown);
  v("signal", event.signal, kKnown);
  v("since_ms", event.since_ms, kKnown);
  v("text", event.text, kMasked);
}

std::string event_line(const TimelineEvent& event) {
  base::json::Writer out(false);
  base::write_json(out, event);
  return std::move(out).take() + "\n";
}

std::optional<TimelineEvent> read_event_line(std::string_view line) {
  const auto document = base::json::Document::parse(line, kEventsFile);
  if (!document) return std::nullopt;
  TimelineEvent event;
  base::JsonIn in(document->root());
  fields(in, event);
  if (!in.finish("reading an event", kEventsFile, "")) return std::nullopt;
  return event;
}

}  // namespace engine
