#include "init/engine/state/failure.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/utf8.h"

namespace engine {
namespace {

constexpr std::size_t kMostLineBytes = 400;
constexpr std::size_t kLinesInLog = 3;

// The length of the terminal's escape sequence that `text` starts with, which is ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  if (kind == '[') {
    std::size_t end = 2;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']') {  // up to BEL or ESC '\'
    std::size_t end = 2;
    while (end < text.size() && text[end] != '\a' && text[end] != '\033') ++end;
    return std::min(end + (end < text.size() && text[end] == '\033' ? 2U : 1U), text.size());
  }
  return 2;
}

std::string plain(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto first = static_cast<unsigned char>(line[0]);
    std::size_t taken = sys::utf8_length(line);
    if (first == '\033') {
      taken = escape_length(line);
    } else if (taken == 0) {
      text += '?';
      taken = 1;
    } else if (first == '\t') {
      text += ' ';
    } else if (!sys::is_control(line)) {
      text += line.substr(0, taken);
    }
    line.remove_prefix(taken);
  }
  const std::size_t end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

// What a terminal would show last of a line that was written over.
std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

std::string joined(const std::vector<std::string>& items, std::size_t from,
                   std::string_view separator) {
  std::string text;
  for (std::size_t i = from; i < items.size(); ++i) {
    if (i > from) text += separator;
    text += items[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> last_lines_of(std::string_view printed, bool whole) {
  if (printed.size() > kMostLastBytes) {
    printed.remove_prefix(printed.size() - kMostLastBytes);
    whole = false;
  }
  if (const std::size_t first = printed.find('\n'); !whole && first != std::string_view::npos) {
    printed.remove_prefix(first + 1);
  }
  std::vector<std::string> lines;
  while (!printed.empty() && lines.size() < kMostLastLines) {
    const std::size_t start = printed.rfind('\n');
    const std::string_view line =
        start == std::string_view::npos ? printed : printed.substr(start + 1);
    std::string shown = plain(last_state(line));
    if (!shown.empty()) {
      shown = envgen::mask_secrets(shown);
      shown.resize(cut_text(shown, kMostLineBytes).size());
      lines.push_back(std::move(shown));
    }
    printed = printed.substr(0, start == std::string_view::npos ? 0 : start);
  }
  std::ranges::reverse(lines);
  return lines;
}

std::string_view cut_text(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  constexpr std::size_t kMostContinuationBytes = 3;
  std::size_t size = most_bytes;
  const std::size_t least = size - std::min(size, kMostContinuationBytes);
  while (size > least && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

std::string failure_line(std::string_view message, const FailureDetail& detail) {
  std::string text(message);
  const std::size_t count = detail.last_lines.size();
  if (count == 0) return text;
  const std::size_t from = count - std::min(count, kLinesInLog);
  return text + "; its last lines: " + joined(detail.last_lines, from, " | ");
}

std::string termination_text(std::string_view message, const FailureDetail& detail,
                             std::size_t most_bytes) {
  constexpr std::string_view kTornDown = "torn down because of it: ";
  constexpr std::string_view kLastLines = "its last lines:\n";
  std::string text(cut_text("trainit: " + std::string(message), most_bytes - 1));
  text += '\n';
  if (!detail.torn_down.empty() && text.size() + kTornDown.size() + 2 < most_bytes) {
    const std::string names = joined(detail.torn_down, 0, ", ");
    text += kTornDown;
    text += cut_text(names, most_bytes - text.size() - 1);
    text += '\n';
  }
  std::size_t from = detail.last_lines.size();
  std::size_t size = text.size() + kLastLines.size();
  while (from > 0 && size + detail.last_lines[from - 1].size() + 3 <= most_bytes) {
    --from;
    size += detail.last_lines[from].size() + 3;
  }
  if (from == detail.last_lines.size()) return text;
  text += kLastLines;
  for (std::size_t i = from; i < detail.last_lines.size(); ++i) {
    text += "  " + detail.last_lines[i] + "\n";
  }
  return text;
}

}  // namespace engine
