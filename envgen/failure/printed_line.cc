#include "envgen/failure/printed_line.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/printed_text.h"

namespace envgen {
namespace {

constexpr std::size_t kMostPrefixes = 6;
constexpr std::size_t kMostPrefixBytes = 64;
constexpr std::size_t kMostStreamBytes = 80;
constexpr std::size_t kMostLevelBytes = 120;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t count_digits(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

// Each of these: how many bytes of `text` are such a prefix; 0: it begins with none.

// "[rank1]:", "[1,0]<stderr>:", "[host:2]:"
std::size_t bracket_prefix(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  const std::size_t end = text.substr(0, kMostPrefixBytes).find(']');
  if (end == std::string_view::npos) return 0;
  if (text.starts_with("[pod/")) return end + 1;  // kubectl logs --prefix
  std::string_view rest = text.substr(end + 1);
  for (const std::string_view stream : {"<stdout>", "<stderr>", "<stddiag>"}) {
    if (rest.starts_with(stream)) rest.remove_prefix(stream.size());
  }
  return rest.starts_with(':') ? text.size() - rest.size() + 1 : 0;
}

// "(Worker_DP0 pid=17148) "
std::size_t process_prefix(std::string_view text) {
  if (!text.starts_with('(')) return 0;
  const std::size_t end = text.substr(0, kMostPrefixBytes).find(')');
  if (end == std::string_view::npos) return 0;
  return text.substr(0, end).find("pid=") == std::string_view::npos ? 0 : end + 1;
}

// "15: ", "worker-0: ", "stderr: "
std::size_t name_prefix(std::string_view text) {
  constexpr std::string_view kStderr = "stderr: ";
  if (text.starts_with(kStderr)) return kStderr.size() - 1;
  bool dash = false;
  std::size_t end = 0;
  while (end < std::min(text.size(), kMostPrefixBytes) &&
         (is_letter(text[end]) || is_digit(text[end]) || text[end] == '-' || text[end] == '.')) {
    dash = dash || text[end] == '-';
    ++end;
  }
  if (end == 0 || !text.substr(end).starts_with(": ")) return 0;
  return dash || count_digits(text, 0) == end ? end + 1 : 0;
}

// "2025-02-18 12:54", "2025-02-18T12:54:01.123456Z", "12:54:01", "03-25 06:14:02"
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

// "Fri Sep 25 16:52:53 2020"
std::size_t date_prefix(std::string_view text) {
  constexpr std::size_t kBytes = 24;
  static constexpr auto kDays = words("Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun ");
  if (text.size() < kBytes || text[13] != ':' || text[16] != ':') return 0;
  return std::ranges::any_of(kDays, [&](auto day) { return text.starts_with(day); }) ? kBytes : 0;
}

// "ERROR 03-25 06:14:02 [executor.py:880] "
std::size_t level_prefix(std::string_view text) {
  for (const std::string_view level : {"ERROR ", "WARNING ", "INFO ", "CRITICAL "}) {
    if (!text.starts_with(level)) continue;
    const std::size_t time = time_prefix(text.substr(level.size()));
    if (time == 0) return 0;
    const std::size_t end = level.size() + time;
    if (!text.substr(end).starts_with(" [")) return end;
    const std::size_t close = text.substr(end, kMostPrefixBytes).find(']');
    return close == std::string_view::npos ? end : end + close + 1;
  }
  return 0;
}

// The border of a group of exceptions, or of a report that quotes a log.
std::size_t border_prefix(std::string_view text) { return text.starts_with("| ") ? 1 : 0; }

}  // namespace

PrintedLine printed_line(std::string_view raw) {
  PrintedLine line{.text = plain_text(raw)};
  const std::string_view text = line.text;
  for (std::size_t count = 0; count < kMostPrefixes; ++count) {
    // Only behind blanks that are not an indentation of what follows: that is none if a prefix is.
    const std::size_t start = std::min(text.find_first_not_of(' ', line.body), text.size());
    const std::string_view rest = text.substr(start);
    std::size_t taken = bracket_prefix(rest);
    if (taken == 0) taken = process_prefix(rest);
    if (taken == 0) taken = name_prefix(rest);
    if (taken > 0 && line.stream.size() < kMostStreamBytes) line.stream += rest.substr(0, taken);
    if (taken == 0) taken = date_prefix(rest);
    if (taken == 0) taken = time_prefix(rest);
    if (taken == 0) taken = level_prefix(rest);
    if (taken == 0) taken = border_prefix(rest);
    if (taken == 0) break;
    line.body = start + taken;
    if (text.substr(line.body).starts_with(' ')) ++line.body;
  }
  return line;
}

ErrorLevel error_level(const PrintedLine& line) {
  static constexpr auto kStarts =
      words("Error: ", "ERROR: ", "ERROR ", "error: ", "Failed to ", "CRITICAL ",
            "CRITICAL: ", "fatal error: ", "Fatal error: ");
  static constexpr auto kLevels = words("[ERROR]", "[error]", "[CRITICAL]", " ERROR ", " CRITICAL ",
                                        "|ERROR|", "ERROR:", "ERROR -");
  static constexpr auto kFatal =
      words("FATAL: ", "[FATAL]", "[fatal]", " FATAL ", "panic: ", " F tensorflow/");
  const std::string_view said = line.bare();
  const std::string_view head = std::string_view(line.text).substr(0, kMostLevelBytes);
  auto among = [&](const auto& words) {
    return std::ranges::any_of(words, [&](auto word) { return head.find(word) != head.npos; });
  };
  // "[E926 11:11:00.6 thread_pool.cpp:138]", "F0409 07:28:49 1359 api.cc:719]"
  const std::size_t bracket = head.find("[E");
  if (bracket != head.npos && bracket + 2 < head.size() &&
      (is_digit(head[bracket + 2]) || head[bracket + 2] == ' ')) {
    return ErrorLevel::kFatal;
  }
  const bool glog = said.starts_with('E') || said.starts_with('F');
  if (glog && count_digits(said, 1) == 4 && said.substr(5).starts_with(' ')) {
    return ErrorLevel::kFatal;
  }
  if (among(kFatal)) return ErrorLevel::kFatal;
  const bool starts =
      std::ranges::any_of(kStarts, [&](auto word) { return said.starts_with(word); });
  return starts || among(kLevels) ? ErrorLevel::kError : ErrorLevel::kNone;
}

namespace {

// "step 5", "Epoch: [127/300]", "'loss': 10.2", but no "gradient_acc_step * world_size 64".
bool has_number_soon(std::string_view text) {
  constexpr std::size_t kMostBytes = 12;
  std::size_t bytes = 0;
  char last = 'x';
  for (const char c : text) {
    if (is_digit(c)) return true;
    if (c != ' ' || last != ' ') ++bytes;
    if (bytes > kMostBytes) return false;
    last = c;
  }
  return false;
}

}  // namespace

bool is_progress(std::string_view text) {
  if (text.find("it/s") != text.npos || text.find("s/it") != text.npos) {
    return std::ranges::any_of(text, is_digit);
  }
  static constexpr auto kWords =
      words("step", "Step", "epoch", "Epoch", "iter", "Iter", "loss", "Loss");
  return std::ranges::any_of(kWords, [&](auto word) {
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at)) {
      at += word.size();
      if (has_number_soon(text.substr(at))) return true;
    }
    return false;
  });
}

}  // namespace envgen
