#include "init/report/trace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace report {
namespace {

namespace json = base::json;

constexpr std::int64_t kMicroseconds = 1000;  // microseconds per millisecond

void write_known(json::Writer& out, const char* name, std::int64_t value, std::int64_t none) {
  if (value != none) out.key(name).integer(value);
}

void write_known(json::Writer& out, const char* name, std::string_view value) {
  if (!value.empty()) out.key(name).string(value);
}

const char* category(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::kPhase:
      return "phase";
    case Span::Kind::kWait:
      return "wait";
    case Span::Kind::kStage:
      return "data";
    case Span::Kind::kTask:
      return "task";
  }
  return "task";
}

class TraceWriter {
 public:
  TraceWriter(json::Writer& out, const Chart& chart) : out_(out), chart_(chart) {
    for (std::size_t i = 0; i < chart.lanes.size(); ++i) threads_.emplace(chart.lanes[i], i);
  }

  void write();

 private:
  void begin(const char* phase, std::string_view name, std::size_t thread);
  void name(const char* what, const std::string& value, std::size_t thread);
  void write(const Span& span);
  void write(const Moment& moment);
  void write(const UsePoint& point, const std::string& name, const char* unit,
             std::int64_t divisor);
  void write(const Resources& resources);
  [[nodiscard]] std::size_t thread_of(const std::string& lane) const;

  json::Writer& out_;
  const Chart& chart_;
  std::map<std::string, std::size_t> threads_;  // thread numbers, by lane
};

std::size_t TraceWriter::thread_of(const std::string& lane) const {
  const auto found = threads_.find(lane);
  return found == threads_.end() ? chart_.lanes.size() : found->second;
}

void TraceWriter::begin(const char* phase, std::string_view name, std::size_t thread) {
  out_.begin_object().key("ph").string(phase).key("name").string(name);
  out_.key("pid").integer(chart_.node).key("tid").integer(static_cast<std::int64_t>(thread));
}

void TraceWriter::name(const char* what, const std::string& value, std::size_t thread) {
  begin("M", what, thread);
  out_.key("args").begin_object().key("name").string(value).end_object().end_object();
}

void TraceWriter::write(const Span& span) {
  begin("X", span.name, thread_of(span.lane));
  out_.key("cat").string(category(span.kind)).key("ts").integer(span.start_ms * kMicroseconds);
  const std::int64_t length_ms = std::max<std::int64_t>(span.end_ms - span.start_ms, 0);
  out_.key("dur").integer(length_ms * kMicroseconds).key("args").begin_object();
  write_known(out_, "rank", span.rank, -1);
  write_known(out_, "incarnation", span.incarnation, 0);
  write_known(out_, "exit_code", span.exit_code, -1);
  write_known(out_, "signal", span.signal);
  write_known(out_, "text", span.ended ? span.text : "not ended");
  out_.end_object().end_object();
}

void TraceWriter::write(const Moment& moment) {
  const std::size_t thread = thread_of(moment.lane);
  begin("i", moment.name, thread);
  out_.key("cat").string("event").key("ts").integer(moment.at_ms * kMicroseconds);
  out_.key("s").string(moment.lane == kPhases ? "p" : "t").key("args").begin_object();
  write_known(out_, "rank", moment.rank, -1);
  write_known(out_, "text", moment.text);
  out_.end_object().end_object();
}

// Writes a value of a counter. Perfetto draws each counter of a process as a curve.
void TraceWriter::write(const UsePoint& point, const std::string& name, const char* unit,
                        std::int64_t divisor) {
  begin("C", name, 0);
  out_.key("ts").integer(point.at_ms * kMicroseconds).key("args").begin_object();
  out_.key(unit).integer(point.value / divisor).end_object().end_object();
}

void TraceWriter::write(const Resources& resources) {
  constexpr std::int64_t kMebi = 1 << 20;
  for (const UsePoint& point : resources.container_bytes) {
    write(point, "memory of the container", "MiB", kMebi);
  }
  for (const RankUse& rank : resources.ranks) {
    for (const UsePoints& start : rank.memory_bytes) {
      for (const UsePoint& point : start) write(point, "memory of " + rank.name, "MiB", kMebi);
    }
    for (const UsePoints& start : rank.cpu_hundredths) {
      for (const UsePoint& point : start) write(point, "CPU of " + rank.name, "percent", 1);
    }
  }
}

void TraceWriter::write() {
  name("process_name",
       "node " + std::to_string(chart_.node) + (chart_.host.empty() ? "" : " " + chart_.host), 0);
  for (std::size_t i = 0; i < chart_.lanes.size(); ++i) name("thread_name", chart_.lanes[i], i);
  for (const Span& span : chart_.spans) write(span);
  for (const Moment& moment : chart_.moments) write(moment);
  write(chart_.resources);
}

}  // namespace

std::string trace_of(const std::vector<Chart>& charts) {
  json::Writer out(false);
  out.begin_object().key("displayTimeUnit").string("ms").key("traceEvents").begin_array();
  for (const Chart& chart : charts) TraceWriter(out, chart).write();
  out.end_array().end_object();
  return std::move(out).take() + "\n";
}

}  // namespace report
