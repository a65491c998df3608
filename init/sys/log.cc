#include "init/sys/log.h"

// Leaves out the error handlers of spdlog: they format text, read the time zone, and print to
// stderr, where they may block. In this file, code throws only if memory runs out.
#define SPDLOG_NO_EXCEPTIONS
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "init/sys/clock.h"
#include "init/sys/nonblocking_writer.h"
#include "init/sys/screen.h"

namespace sys::log {
namespace {

// Maximum size of a line. A write of at most PIPE_BUF bytes to a pipe is done as a whole or not at
// all.
constexpr std::size_t kMaxLine = PIPE_BUF;
constexpr std::string_view kCutMark = " [cut]";

// A writer of whole lines to stderr.
class Stderr {
 public:
  // Writes a line. Returns false if the line was dropped, so that no byte of it is or will be
  // written.
  bool put(std::string_view line);
  [[nodiscard]] std::vector<int> descriptors() const { return writer_.descriptors(); }

 private:
  NonblockingWriter writer_{STDERR_FILENO};
  // The rest of a line of which a terminal or a socket took only a part. It is written before the
  // next line.
  std::string rest_;
};

bool Stderr::put(std::string_view line) {
  if (!rest_.empty()) {
    const ssize_t count = writer_.write(rest_);
    if (count > 0) rest_.erase(0, static_cast<std::size_t>(count));
    if (!rest_.empty()) return false;
  }
  const ssize_t count = writer_.write(line);
  if (count <= 0) return false;
  rest_ = line.substr(static_cast<std::size_t>(count));
  return true;
}

// Appends the first character of `text`, escaped so that it cannot break or repaint the line.
// Returns its length in `text`.
std::size_t append_character(std::string_view text, Format format, std::string* line) {
  const std::size_t begin = line->size();
  const std::size_t length = base::append_escaped(text, *line);
  const char first = (*line)[begin];
  if (format == Format::kJson && (first == '"' || first == '\\')) line->insert(begin, 1, '\\');
  return length;
}

// Appends the message in at most `limit` bytes.
void append_message(std::string_view text, Format format, std::size_t limit, std::string* line) {
  const std::size_t end = line->size() + limit;
  std::size_t cut = line->size();
  while (!text.empty()) {
    text.remove_prefix(append_character(text, format, line));
    if (line->size() > end) {
      line->resize(cut);
      *line += kCutMark;
      return;
    }
    if (line->size() + kCutMark.size() <= end) cut = line->size();
  }
}

const char* level_word(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::warn:
      return "warning";
    case spdlog::level::err:
      return "error";
    default:
      return "info";
  }
}

struct Origin {
  int node = -1;  // -1: lines do not name the node
  std::string host;
};
Origin origin;

// Stores the rank in the source line of a message, because no other field is free. Lines count from
// 1.
spdlog::source_loc about(int rank) { return {"", rank + 1, ""}; }

std::string json_fields(int rank) {
  std::string text;
  if (origin.node >= 0) {
    text = R"("node":)" + std::to_string(origin.node) + R"(,"host":")";
    append_message(origin.host, Format::kJson, kMaxLine / 4, &text);
    text += "\",";
  }
  if (rank >= 0) text += R"("rank":)" + std::to_string(rank) + ",";
  return text;
}

// Formats lines. spdlog's own patterns cannot write JSON, and read /etc/localtime for the time.
class LineFormatter {
 public:
  LineFormatter(Format format, bool timestamps) : format_(format), timestamps_(timestamps) {}

  [[nodiscard]] bool is_json() const { return format_ == Format::kJson; }
  // Returns the line, with `front` before it.
  [[nodiscard]] std::string line(const spdlog::details::log_msg& message,
                                 std::string_view front) const {
    const std::string time = utc_text(
        std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch())
            .count());
    const std::string word = level_word(message.level);
    std::string text;
    std::string tail = "\n";
    if (format_ == Format::kJson) {
      text = R"({"time":")" + time + R"(","level":")" + word + R"(",)" +
             json_fields(message.source.line - 1) + R"("message":")";
      tail = "\"}\n";
    } else {
      text = (timestamps_ ? time + " " : "") + "trainit";
      if (origin.node >= 0) text += "[node " + std::to_string(origin.node) + "]";
      text += ": ";
      if (message.level != spdlog::level::info) text += word + ": ";
    }
    append_message({message.payload.data(), message.payload.size()}, format_,
                   kMaxLine - front.size() - text.size() - tail.size(), &text);
    return std::string(front).append(text).append(tail);
  }

 private:
  Format format_;
  bool timestamps_;
};

// The sink of the log. It is not derived from base_sink, which would link spdlog's patterns.
class StderrSink final : public spdlog::sinks::sink {
 public:
  explicit StderrSink(LineFormatter formatter) : formatter_(formatter) {}
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::vector<int> descriptors() const { return stderr_.descriptors(); }

  void log(const spdlog::details::log_msg& message) override {
    const bool drawn = !status_.empty() && ::getpid() == drawer_;
    if (drawn) stderr_.put(kEraseLine);
    log_line(message);
    if (drawn) draw();
  }
  void watch_line(std::atomic<bool>* inside) { inside_ = inside; }
  void share_stderr() { shared_ = true; }
  void set_status(std::string_view text) {
    if (status_ == text) return;
    status_ = text;
    drawer_ = ::getpid();
    draw();
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

 private:
  void log_line(const spdlog::details::log_msg& message) {
    if (!say_dropped() || !put(message)) {
      ++dropped_;
      ++unsaid_;
    }
  }
  void draw() { stderr_.put(std::string(kEraseLine) + status_); }
  bool put(const spdlog::details::log_msg& message) {
    const bool inside = inside_ != nullptr && inside_->exchange(false);
    const bool unknown = shared_ && formatter_.is_json();
    const bool taken = stderr_.put(formatter_.line(message, inside || unknown ? "\n" : ""));
    if (!taken && inside) *inside_ = true;
    return taken;
  }

  bool say_dropped() {
    if (unsaid_ == 0) return true;
    const std::string text =
        "lines dropped, as stderr did not take them: " + std::to_string(unsaid_);
    if (!put({"", spdlog::level::warn, text})) return false;
    unsaid_ = 0;
    return true;
  }

  LineFormatter formatter_;
  Stderr stderr_;
  std::atomic<bool>* inside_ = nullptr;
  bool shared_ = false;
  std::string status_;
  pid_t drawer_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t unsaid_ = 0;
};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

constexpr std::string_view kHead = "trainit: ";

// Suppresses repeated warnings. Otherwise a user who causes one again and again could fill the log.
class Repeats {
 public:
  // Returns whether `text` may be logged now. If earlier warnings were suppressed, appends their
  // number to it.
  bool allow(std::string& text) {
    constexpr std::int64_t kWindowMs = 10'000;
    constexpr unsigned kMax = 10;  // equal lines within the window
    const std::int64_t now_ms = monotonic_ms();
    const std::size_t hash = std::hash<std::string>()(text);
    auto* known = std::ranges::find(seen_, hash, &Seen::hash);
    if (known == seen_.end()) {
      known = std::ranges::min_element(seen_, {}, &Seen::since_ms);
      *known = {.hash = hash, .since_ms = now_ms};
    }
    if (now_ms - known->since_ms < kWindowMs) return ++known->count <= kMax;
    if (known->count > kMax) {
      text += " (" + std::to_string(known->count - kMax) + " equal lines were suppressed)";
    }
    *known = {.hash = hash, .since_ms = now_ms, .count = 1};
    return true;
  }

 private:
  struct Seen {
    std::size_t hash = 0;
    std::int64_t since_ms = 0;
    unsigned count = 0;
  };
  std::array<Seen, 8> seen_{};
};

struct Log {
  std::shared_ptr<StderrSink> sink;
  spdlog::logger logger;
  bool screen = false;
  Repeats repeats = {};
};
std::unique_ptr<Log> current;

}  // namespace

void open(Level least, Format format, bool timestamps) {
  current.reset();
  auto sink = std::make_shared<StderrSink>(LineFormatter(format, timestamps));
  current = std::make_unique<Log>(Log{sink, spdlog::logger("", sink)});
  current->logger.set_level(spdlog_level(least));
  const bool tells = least == Level::kDebug || least == Level::kInfo;
  current->screen = format == Format::kHuman && tells && is_screen();
}

void write(Level level, std::string_view message, int rank) {
  if (!current) return;
  // Masks credentials, because a message may quote the value that it is about.
  std::string shown = base::mask_secrets(message);
  if (level == Level::kWarning && !current->repeats.allow(shown)) return;
  current->logger.log(about(rank), spdlog_level(level),
                      spdlog::string_view_t(shown.data(), shown.size()));
}

void watch_line(std::atomic<bool>* inside) {
  if (current) current->sink->watch_line(inside);
}

void share_stderr() {
  if (current) current->sink->share_stderr();
}

bool has_screen() { return current && current->screen; }

void set_status(std::string_view text) {
  if (!has_screen()) return;
  current->sink->set_status(text.empty() ? "" : std::string(kHead) + base::escaped_text(text));
}

int status_columns() { return screen_columns() - static_cast<int>(kHead.size()); }

void set_origin(int node, std::string_view host) { origin = {node, std::string(host)}; }

std::uint64_t dropped() { return current ? current->sink->dropped() : 0; }

std::vector<int> descriptors() {
  return current ? current->sink->descriptors() : std::vector<int>();
}

}  // namespace sys::log
