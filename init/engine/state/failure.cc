#include "init/engine/state/failure.h"

#include <algorithm>

#include "base/printed_text.h"
#include "base/secrets.h"

namespace engine {
namespace {

constexpr std::size_t kMostLineBytes = 400;
constexpr std::size_t kLinesInLog = 3;

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
    std::string shown = envgen::plain_text(last_state(line));
    if (!shown.empty()) {
      shown = envgen::mask_secrets(shown);
      shown.resize(envgen::cut_text(shown, kMostLineBytes).size());
      lines.push_back(std::move(shown));
    }
    printed = printed.substr(0, start == std::string_view::npos ? 0 : start);
  }
  std::ranges::reverse(lines);
  return lines;
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
  std::string text(envgen::cut_text("trainit: " + std::string(message), most_bytes - 1));
  text += '\n';
  if (!detail.torn_down.empty() && text.size() + kTornDown.size() + 2 < most_bytes) {
    const std::string names = joined(detail.torn_down, 0, ", ");
    text += kTornDown;
    text += envgen::cut_text(names, most_bytes - text.size() - 1);
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
