#include "init/engine/state/failure.h"

#include <algorithm>
#include <cctype>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "envgen/failure/printed_line.h"

namespace engine {
namespace {

constexpr std::size_t kMaxLineBytes = 400;
// Bytes of a line that are searched for secrets. A secret may begin in the part that is shown and
// end after it.
constexpr std::size_t kMaxSeenBytes = 4096;
constexpr std::size_t kLinesInLog = 3;

// Returns what a terminal shows at last of a line that '\r' overwrites.
std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

constexpr std::string_view kHidden = "***";

bool marks_key(std::string_view line, std::string_view mark) {
  return line.contains(mark) && line.contains("PRIVATE KEY-----");
}

bool is_of_key(std::string_view line) {
  return std::ranges::all_of(line, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  });
}

// Hides the body of a private key. One mark is enough to find it, because the other one may be
// outside of `lines`.
void hide_keys(std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (marks_key(lines[i], "-----BEGIN ")) {
      for (std::size_t at = i + 1; at < lines.size() && is_of_key(lines[at]); ++at) {
        lines[at] = kHidden;
      }
    }
    if (!marks_key(lines[i], "-----END ")) continue;
    for (std::size_t at = i; at > 0 && is_of_key(lines[at - 1]); --at) lines[at - 1] = kHidden;
  }
}

}  // namespace

std::vector<std::string> last_lines_of(std::string_view printed, bool whole) {
  if (const std::size_t first = printed.find('\n'); !whole && first != std::string_view::npos) {
    printed.remove_prefix(first + 1);
  }
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  while (!printed.empty() && lines.size() < kMaxLastLines) {
    const std::size_t start = printed.rfind('\n');
    const std::string_view line =
        start == std::string_view::npos ? printed : printed.substr(start + 1);
    std::string shown = base::plain_text(last_state(line).substr(0, kMaxSeenBytes));
    bytes += std::min(shown.size(), kMaxLineBytes);
    if (bytes > kMaxLastBytes) break;
    if (!shown.empty()) lines.push_back(std::move(shown));
    printed = printed.substr(0, start == std::string_view::npos ? 0 : start);
  }
  if (lines.empty()) return lines;
  std::ranges::reverse(lines);
  hide_keys(lines);
  // Mask all lines together first, because a name and its value may be on two lines. With a private
  // key that is left out: it would hide all lines.
  const std::string text = base::joined(lines, "\n");
  if (!text.contains("PRIVATE KEY")) {
    const std::string masked = base::mask_printed(text);
    lines.clear();
    for (const std::string_view line : base::split(masked, '\n')) lines.emplace_back(line);
  }
  for (std::string& line : lines) {
    line = base::mask_printed(line);
    line.resize(base::cut_text(line, kMaxLineBytes).size());
  }
  return lines;
}

std::vector<std::string> lines_beside_traceback(const FailureDetail& detail) {
  std::vector<std::string> lines = detail.last_lines;
  if (!detail.cause || detail.cause->traceback.empty()) return lines;
  const std::vector<std::string>& traceback = detail.cause->traceback;
  auto repeated = std::ranges::search(lines, traceback);
  // The last lines may begin within the traceback, so look for its end in front.
  for (std::size_t tail = traceback.size(); repeated.empty() && --tail > 0;) {
    const auto end = traceback.end() - static_cast<std::ptrdiff_t>(tail);
    if (tail > lines.size() || !std::equal(end, traceback.end(), lines.begin())) continue;
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(tail));
    return lines;
  }
  lines.erase(repeated.begin(), repeated.end());
  return lines;
}

namespace {

std::string cause_by(const FailureCause& cause, const std::string& victim) {
  if (cause.line.empty()) return "";
  const std::string by = cause.task.empty() ? "" : " (" + cause.task + ")";
  return (cause.role == "victim" ? victim + " only says" : "the cause" + by) + ": " +
         std::string(envgen::without_rank(cause.line));
}

}  // namespace

std::string cause_text(const FailureCause& cause) { return cause_by(cause, "it"); }

namespace {

// Returns a text about the nodes that never connected; "": none. Also "" if a rank has shown its
// own cause.
std::string absent_text(const FailureDetail& detail) {
  if (detail.never_connected.empty() || (detail.cause && detail.cause->role == "root")) return "";
  return "never connected: " + detail.never_connected + " (see whether it was started)";
}

}  // namespace

std::string failure_line(std::string_view message, const FailureDetail& detail) {
  const std::string cause = detail.cause ? cause_by(*detail.cause, detail.task) : "";
  std::string text = (cause.empty() ? "" : cause + "; ") + "first failure: " + std::string(message);
  if (const std::string absent = absent_text(detail); !absent.empty()) text += "; " + absent;
  if (!cause.empty()) {
    if (!detail.cause->advice.empty()) text += "; what to do: " + detail.cause->advice;
    return text;
  }
  const std::size_t count = detail.last_lines.size();
  if (count == 0) return text;
  const std::vector<std::string> newest(
      detail.last_lines.end() - static_cast<std::ptrdiff_t>(std::min(count, kLinesInLog)),
      detail.last_lines.end());
  return text + "; its last lines: " + base::joined(newest, " | ");
}

namespace {

// Adds `title` and the newest of `lines` that fit, indented. Adds nothing if no line fits.
void add_newest(std::string_view title, const std::vector<std::string>& lines,
                std::size_t most_bytes, std::string& text) {
  std::size_t from = lines.size();
  std::size_t size = text.size() + title.size();
  while (from > 0 && size + lines[from - 1].size() + 3 <= most_bytes) {
    --from;
    size += lines[from].size() + 3;
  }
  if (from == lines.size()) return;
  text += title;
  for (std::size_t i = from; i < lines.size(); ++i) text += "  " + lines[i] + "\n";
}

// Returns the first line of the termination message. It begins with the cause, because dashboards
// show only this line.
std::string first_line(std::string_view message, const FailureDetail& detail) {
  const std::string cause = detail.cause ? cause_by(*detail.cause, detail.task) : "";
  return "trainit: " + (cause.empty() ? "" : cause + "; ") + std::string(message);
}

void add_advice(const FailureCause& cause, std::size_t most_bytes, std::string& text) {
  constexpr std::string_view kAdvice = "what to do: ";
  if (cause.line.empty() || cause.advice.empty()) return;
  if (text.size() + kAdvice.size() + cause.advice.size() + 1 > most_bytes) return;
  text += kAdvice;
  text += cause.advice + '\n';
}

}  // namespace

std::string termination_text(std::string_view message, const FailureDetail& detail,
                             std::size_t most_bytes) {
  constexpr std::string_view kTornDown = "torn down because of it: ";
  std::string text(base::cut_text(first_line(message, detail), most_bytes - 1));
  text += '\n';
  const std::string absent = absent_text(detail);
  if (!absent.empty() && text.size() + absent.size() < most_bytes) text += absent + '\n';
  if (detail.cause) {
    add_advice(*detail.cause, most_bytes, text);
    // The traceback gets at most half of the space that is left; the last lines get the rest.
    const std::size_t half = text.size() + (most_bytes - text.size()) / 2;
    add_newest("its traceback:\n", detail.cause->traceback, half, text);
  }
  if (!detail.torn_down.empty() && text.size() + kTornDown.size() + 2 < most_bytes) {
    const std::string names = base::joined(detail.torn_down, ", ");
    text += kTornDown;
    text += base::cut_text(names, most_bytes - text.size() - 1);
    text += '\n';
  }
  add_newest("its last lines:\n", lines_beside_traceback(detail), most_bytes, text);
  return text;
}

}  // namespace engine
