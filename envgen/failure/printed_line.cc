#include "envgen/failure/printed_line.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/printed_text.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxPrefixes = 6;
constexpr std::size_t kMaxPrefixBytes = 64;
constexpr std::size_t kMaxStreamBytes = 80;
constexpr std::size_t kMaxLevelBytes = 120;
constexpr std::size_t kMaxRecordBytes = 1024;  // the part of a record that is searched, because the
                                               // level may be its last field
constexpr std::size_t kMaxPlaceBytes = 120;    // maximum length of a source position such as
                                               // "ProcessGroupNCCL.cpp"

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t count_digits(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

// The following functions return the length of their kind of prefix at the start of `text`; 0 if
// there is no such prefix.

// Matches "[rank1]:", "[1,0]<stderr>:", "[host:2]:", "[0] ".
std::size_t bracket_prefix(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  const std::size_t end = text.substr(0, kMaxPrefixBytes).find(']');
  if (end == std::string_view::npos) return 0;
  if (text.starts_with("[pod/")) return end + 1;  // kubectl logs --prefix
  std::string_view rest = text.substr(end + 1);
  if (end > 1 && count_digits(text, 1) == end - 1 && rest.starts_with(' ')) return end + 1;
  for (const std::string_view stream : {"<stdout>", "<stderr>", "<stddiag>"}) {
    if (rest.starts_with(stream)) rest.remove_prefix(stream.size());
  }
  return rest.starts_with(':') ? text.size() - rest.size() + 1 : 0;
}

// Matches "(Worker_DP0 pid=17148) ".
std::size_t process_prefix(std::string_view text) {
  if (!text.starts_with('(')) return 0;
  const std::size_t end = text.substr(0, kMaxPrefixBytes).find(')');
  if (end == std::string_view::npos) return 0;
  return text.substr(0, end).find("pid=") == std::string_view::npos ? 0 : end + 1;
}

// Matches "15: ", "rank0: ".
std::size_t rank_prefix(std::string_view text) {
  constexpr std::string_view kRank = "rank";
  const std::size_t start = text.starts_with(kRank) ? kRank.size() : 0;
  const std::size_t digits = count_digits(text, start);
  const std::size_t end = start + digits;
  return digits > 0 && text.substr(end).starts_with(": ") ? end + 1 : 0;
}

// Matches "worker-0: ", "stderr: ".
std::size_t name_prefix(std::string_view text) {
  constexpr std::string_view kStderr = "stderr: ";
  if (text.starts_with(kStderr)) return kStderr.size() - 1;
  bool dash = false;
  std::size_t end = 0;
  while (end < std::min(text.size(), kMaxPrefixBytes) &&
         (is_letter(text[end]) || is_digit(text[end]) || text[end] == '-' || text[end] == '.')) {
    dash = dash || text[end] == '-';
    ++end;
  }
  if (end == 0 || !text.substr(end).starts_with(": ")) return 0;
  return dash ? end + 1 : 0;
}

// Matches "2025-02-18 12:54", "2025-02-18T12:54:01.123456Z", "12:54:01", "03-25 06:14:02".
std::size_t time_prefix(std::string_view text) {
  std::size_t end = 0;
  std::size_t digits = 0;
  std::size_t colons = 0;
  while (end < std::min<std::size_t>(text.size(), 40)) {
    const char c = text[end];
    const bool between =
        c == ' ' && end + 1 < text.size() && is_digit(text[end + 1]) && colons == 0 && digits >= 4;
    if (is_digit(c)) {
      ++digits;
    } else if (c == ':') {
      ++colons;
    } else if (c != '-' && c != '/' && c != '.' && c != ',' && c != '+' && c != 'T' && c != 'Z' &&
               !between) {
      break;
    }
    ++end;
  }
  const bool ends = end == text.size() || text[end] == ' ' || text[end] == '[';
  if (digits < 6 || colons == 0 || !is_digit(text[0]) || !ends) return 0;
  return end;
}

// Matches "Fri Sep 25 16:52:53 2020".
std::size_t date_prefix(std::string_view text) {
  constexpr std::size_t kBytes = 24;
  static constexpr auto kDays = base::words("Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun ");
  if (text.size() < kBytes || text[13] != ':' || text[16] != ':') return 0;
  return std::ranges::any_of(kDays, [&](auto day) { return text.starts_with(day); }) ? kBytes : 0;
}

// Matches "ERROR 03-25 06:14:02 [executor.py:880] ".
std::size_t level_prefix(std::string_view text) {
  for (const std::string_view level : {"ERROR ", "WARNING ", "INFO ", "CRITICAL "}) {
    if (!text.starts_with(level)) continue;
    const std::size_t time = time_prefix(text.substr(level.size()));
    if (time == 0) return 0;
    const std::size_t end = level.size() + time;
    if (!text.substr(end).starts_with(" [")) return end;
    const std::size_t close = text.substr(end, kMaxPrefixBytes).find(']');
    return close == std::string_view::npos ? end : end + close + 1;
  }
  return 0;
}

// Matches a progress bar with text after it: " 50%|###  | 5/10 [00:01<00:01, 5.0it/s]Killed".
std::size_t bar_prefix(std::string_view text) {
  if (text.find("%|") == text.npos) return 0;
  for (const std::string_view end : {"s/it]", "it/s]"}) {
    const std::size_t at = text.rfind(end);
    if (at != text.npos && at + end.size() < text.size()) return at + end.size();
  }
  return 0;
}

// Matches the left border of an exception group, or of a report that quotes a log.
std::size_t border_prefix(std::string_view text) { return text.starts_with("| ") ? 1 : 0; }

// Reads the letter "E" in "[E926 11:11:00.6 thread_pool.cpp:138]", "[E socket.cpp:860]", "F0409
// 07:28:49 1359 api.cc:719]" and "E external/xla/cuda_driver.cc:152]".
LogLevel letter_level(std::string_view text) {
  const bool bracket = text.starts_with('[');
  if (bracket) text.remove_prefix(1);
  if (text.size() < 2) return LogLevel::kNone;
  const std::string_view behind = text.substr(1);
  const std::size_t digits = count_digits(behind, 0);
  const std::string_view place = behind.substr(0, std::min(behind.find(':'), kMaxPlaceBytes));
  const bool source =
      place.starts_with(' ') && place.find('.') != place.npos && place.find(' ', 1) == place.npos;
  const bool glog = bracket ? digits >= 3 : digits == 4 && behind.substr(4).starts_with(' ');
  if (!source && !glog) return LogLevel::kNone;
  switch (text[0]) {
    case 'D':
    case 'I':
      return LogLevel::kInfo;
    case 'W':
      return LogLevel::kWarning;
    case 'E':
    case 'F':
      return LogLevel::kError;
    default:
      return LogLevel::kNone;
  }
}

using LevelNames = std::array<std::string_view, 5>;
constexpr LevelNames kErrorNames = {"ERROR", "CRITICAL", "FATAL", "PANIC"};
constexpr LevelNames kWarningNames = {"WARNING", "WARN"};
constexpr LevelNames kInfoNames = {"INFO", "DEBUG", "TRACE", "NOTICE", "SUCCESS"};

// Returns the level that `word`, in capitals, names.
LogLevel named_level(std::string_view word) {
  auto is = [&](const LevelNames& names) {
    return !word.empty() && std::ranges::find(names, word) != names.end();
  };
  if (is(kErrorNames)) return LogLevel::kError;
  if (is(kWarningNames)) return LogLevel::kWarning;
  return is(kInfoNames) ? LogLevel::kInfo : LogLevel::kNone;
}

std::size_t count_letters(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_letter(text[end]) || text[end] == '_')) ++end;
  return end;
}

// Returns the level that a word in capitals names, such as "ERROR" among the first words.
LogLevel word_level(std::string_view head) {
  for (std::size_t at = 0; at < head.size(); ++at) {
    const std::size_t letters = count_letters(head.substr(at));
    if (letters == 0) continue;
    const std::string_view word = head.substr(at, letters);
    // NCCL logs fatal errors with the level WARN, so that counts as an error.
    if (word == "WARN" && head.substr(0, at).ends_with("NCCL ")) return LogLevel::kError;
    if (const LogLevel level = named_level(word); level != LogLevel::kNone) return level;
    at += letters;
  }
  return LogLevel::kNone;
}

// Returns the level in a field of a record, in JSON (`"level": "error"`) or in logfmt
// (`level=error`).
LogLevel field_level(std::string_view record) {
  static constexpr auto kFields = base::words("level", "severity", "lvl", "levelname");
  for (std::size_t at = 0; at < record.size(); ++at) {
    const std::size_t letters = count_letters(record.substr(at));
    const std::string_view field = record.substr(at, letters);
    at += letters;
    if (std::ranges::find(kFields, field) == kFields.end()) continue;
    const std::string_view behind = record.substr(at);
    if (!behind.starts_with('=') && !behind.starts_with('"') && !behind.starts_with('\\')) continue;
    const std::size_t start = std::min(behind.find_first_not_of("\\\":= "), behind.size());
    std::string word(behind.substr(start, count_letters(behind.substr(start))));
    for (char& c : word) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    if (const LogLevel level = named_level(word); level != LogLevel::kNone) return level;
  }
  return LogLevel::kNone;
}

}  // namespace

PrintedLine printed_line(std::string_view raw) {
  PrintedLine line{.text = base::plain_text(raw)};
  const std::string_view text = line.text;
  for (std::size_t count = 0; count < kMaxPrefixes; ++count) {
    // Skips leading blanks only if a prefix follows. Otherwise they are the indentation of the
    // text.
    const std::size_t start = std::min(text.find_first_not_of(' ', line.body), text.size());
    const std::string_view rest = text.substr(start);
    std::size_t taken = bracket_prefix(rest);
    if (taken == 0) taken = process_prefix(rest);
    if (taken == 0) taken = rank_prefix(rest);
    if (taken == 0) taken = name_prefix(rest);
    if (taken > 0 && line.stream.size() < kMaxStreamBytes) line.stream += rest.substr(0, taken);
    if (taken == 0) taken = date_prefix(rest);
    if (taken == 0) taken = time_prefix(rest);
    if (taken == 0) taken = level_prefix(rest);
    if (taken == 0) taken = border_prefix(rest);
    if (taken == 0) taken = bar_prefix(rest);
    if (taken == 0) break;
    line.body = start + taken;
    if (text.substr(line.body).starts_with(' ')) ++line.body;
  }
  return line;
}

std::string_view without_rank(std::string_view line) {
  for (std::size_t count = 0; count < kMaxPrefixes; ++count) {
    // A prefix such as "[Error]:" or "[pod/x] " does not name a rank, so it stays.
    const std::size_t end = std::min(line.find(']'), line.size());
    const bool numbered = end > 0 && is_digit(line[end - 1]);
    std::size_t taken = numbered ? bracket_prefix(line) : 0;
    if (taken == 0) taken = rank_prefix(line);
    if (taken == 0) break;
    line.remove_prefix(taken);
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  return line;
}

LogLevel log_level(const PrintedLine& line) {
  static constexpr auto kErrors = base::words(
      "Error: ", "error: ", "Failed to ", "fatal: ", "panic: ", "fatal error: ", "Fatal error: ");
  static constexpr auto kWarnings = base::words("Warning: ", "warning: ");
  const std::string_view said = line.bare();
  auto starts = [&](const auto& all) {
    return std::ranges::any_of(all, [&](auto word) { return said.starts_with(word); });
  };
  if (const LogLevel level = letter_level(said); level != LogLevel::kNone) return level;
  if (const LogLevel level = field_level(said.substr(0, kMaxRecordBytes)); level != LogLevel::kNone)
    return level;
  const std::string_view head = std::string_view(line.text).substr(0, kMaxLevelBytes);
  if (const LogLevel level = word_level(head); level != LogLevel::kNone) return level;
  if (starts(kWarnings)) return LogLevel::kWarning;
  return starts(kErrors) || head.find(": error: ") != head.npos ? LogLevel::kError
                                                                : LogLevel::kNone;
}

}  // namespace envgen
