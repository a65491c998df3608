#include "envgen/formats/perf_line.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading the pattern of the performance watch";
constexpr std::string_view kHardware = "{hardware}";
constexpr std::string_view kE2e = "{e2e}";
constexpr std::string_view kBreaks = "\r\n";
constexpr int kDecimals = 6;
constexpr std::size_t kMostDigits = 9;
constexpr std::int64_t kMillion = 1'000'000;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a number off the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at, ++digits) {
    if (digits == kMostDigits) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  std::size_t decimals = 0;
  // The point of "12." ends a sentence.
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++decimals) {
      if (decimals < kDecimals) value = value * 10 + (text[at] - '0');
    }
  }
  if (digits + decimals == 0) return std::nullopt;
  for (; decimals < kDecimals; ++decimals) value *= 10;
  text.remove_prefix(at);
  return value;
}

// Takes `literal` off the front of `text`, where a blank stands for a run of them.
bool take_literal(std::string_view literal, std::string_view& text) {
  std::size_t at = 0;
  for (const char c : literal) {
    if (at == text.size() || (c == ' ' ? !is_blank(text[at]) : c != text[at])) return false;
    ++at;
    while (c == ' ' && at < text.size() && is_blank(text[at])) ++at;
  }
  text.remove_prefix(at);
  return true;
}

std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_blank(c)) {
      out += c;
    } else if (!out.ends_with(' ')) {
      out += ' ';
    }
  }
  return out;
}

std::string longest_word(std::string_view text) {
  std::string_view longest;
  while (!text.empty()) {
    const std::string_view word = take_part(text, ' ');
    if (word.size() > longest.size()) longest = word;
  }
  return std::string(longest);
}

std::optional<PerfTimes> match_at(const PerfPattern& pattern, std::string_view text) {
  if (!take_literal(pattern.head, text)) return std::nullopt;
  auto first = take_number(text);
  if (!first || !take_literal(pattern.middle, text)) return std::nullopt;
  auto second = take_number(text);
  if (!second || !take_literal(pattern.tail, text)) return std::nullopt;
  // "12.5e3" and "12.5.1" are no numbers that end there.
  if (pattern.tail.empty() && !text.empty() && !is_blank(text[0]) && text[0] != '.' &&
      text[0] != ',' && text[0] != ';') {
    return std::nullopt;
  }
  if (!pattern.hardware_first) std::swap(first, second);
  if (*second == 0) return std::nullopt;
  return PerfTimes{*first, *second};
}

std::size_t find_in(std::string_view text, std::string_view word, std::size_t from) {
  const void* found = ::memmem(text.data() + from, text.size() - from, word.data(), word.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// The first end of a line from there on; the text's size: there is none.
std::size_t first_break(std::string_view text, std::size_t from) {
  const std::size_t newline = std::min(text.find('\n', from), text.size());
  return std::min(text.substr(0, newline).find('\r', from), newline);
}

// The place behind the last end of a line; 0: there is none.
std::size_t behind_last_break(std::string_view text) {
  const auto behind = [text](char c) -> std::size_t {
    const void* found = text.empty() ? nullptr : ::memrchr(text.data(), c, text.size());
    return found == nullptr
               ? 0
               : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
  };
  return std::max(behind('\n'), behind('\r'));
}

}  // namespace

std::int64_t PerfTimes::ratio_ppm() const {
  std::int64_t ratio = hardware / e2e;
  if (ratio >= kMillion) return kMillion * kMillion;
  std::int64_t rest = hardware % e2e;
  // Digit by digit: the product would not fit.
  for (int i = 0; i < kDecimals; ++i) {
    rest *= 10;
    ratio = ratio * 10 + rest / e2e;
    rest %= e2e;
  }
  return ratio;
}

std::optional<std::int64_t> parse_millionths(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

std::string millionths_text(std::int64_t value) {
  std::string decimals = std::to_string(kMillion + value % kMillion).substr(1);
  while (decimals.size() > 1 && decimals.ends_with('0')) decimals.pop_back();
  return std::to_string(value / kMillion) + "." + decimals;
}

Result<PerfPattern> parse_perf_pattern(std::string_view text) {
  const std::string whole = with_single_blanks(text.empty() ? kUsualPerfPattern : text);
  const auto bad = [&](const char* found) {
    return fail(kReading, "--perf-pattern", quoted(whole) + ": " + found,
                "give a text with {hardware} and {e2e} behind it, as in \"" +
                    std::string(kUsualPerfPattern) + '"');
  };
  if (text.size() > kMostPatternBytes) return bad("too long");
  if (whole.find_first_of(kBreaks) != std::string::npos) return bad("more than a line");
  const std::size_t hardware = whole.find(kHardware);
  const std::size_t e2e = whole.find(kE2e);
  if (hardware == std::string::npos) return bad("no {hardware}");
  if (e2e == std::string::npos) return bad("no {e2e}");
  PerfPattern pattern;
  pattern.hardware_first = hardware < e2e;
  const std::size_t first = std::min(hardware, e2e);
  const std::size_t second = std::max(hardware, e2e);
  const std::size_t behind_first = first + (hardware < e2e ? kHardware : kE2e).size();
  const std::size_t behind_second = second + (hardware < e2e ? kE2e : kHardware).size();
  pattern.head = whole.substr(0, first);
  pattern.middle = whole.substr(behind_first, second - behind_first);
  pattern.tail = whole.substr(behind_second);
  pattern.anchor = longest_word(pattern.head);
  if (pattern.anchor.empty()) return bad("no text before the first number");
  if (pattern.middle.empty()) return bad("nothing between the two numbers");
  const bool again =
      pattern.tail.find(kHardware) != std::string::npos ||
      pattern.tail.find(kE2e) != std::string::npos ||
      pattern.middle.find(pattern.hardware_first ? kHardware : kE2e) != std::string::npos;
  if (again) return bad("a number stands there twice");
  return pattern;
}

std::optional<PerfTimes> match_perf_line(const PerfPattern& pattern, std::string_view line) {
  const std::size_t before_anchor = pattern.head.find(pattern.anchor);
  for (std::size_t at = find_in(line, pattern.anchor, 0); at != std::string_view::npos;
       at = find_in(line, pattern.anchor, at + 1)) {
    // Back to where the head would begin: over a literal of which a blank may be many.
    std::size_t begin = at;
    for (std::size_t i = before_anchor; i > 0 && begin <= at; --i) {
      const char c = pattern.head[i - 1];
      if (begin == 0 || (c == ' ' ? !is_blank(line[begin - 1]) : c != line[begin - 1])) {
        begin = at + 1;  // it does not fit here
      } else {
        --begin;
        while (c == ' ' && begin > 0 && is_blank(line[begin - 1])) --begin;
      }
    }
    if (begin > at) continue;
    if (const auto times = match_at(pattern, line.substr(begin))) return times;
  }
  return std::nullopt;
}

void PerfScanner::add(std::string_view bytes, const std::function<void(const PerfTimes&)>& found) {
  if (passing_ || !begun_.empty()) {
    const std::size_t end = first_break(bytes, 0);
    const std::string_view rest = bytes.substr(0, end);
    passing_ = passing_ || begun_.size() + rest.size() > kMostPerfLineBytes;
    if (passing_) begun_.clear();
    if (!passing_) begun_ += rest;
    if (end == bytes.size()) return;
    search(begun_, found);
    forget();
    bytes.remove_prefix(end + 1);
  }
  const std::size_t whole = behind_last_break(bytes);
  search(bytes.substr(0, whole), found);
  const std::string_view rest = bytes.substr(whole);
  passing_ = rest.size() > kMostPerfLineBytes;
  if (!passing_) begun_ = rest;
}

void PerfScanner::forget() {
  begun_.clear();
  passing_ = false;
}

void PerfScanner::search(std::string_view lines,
                         const std::function<void(const PerfTimes&)>& found) const {
  std::size_t from = 0;
  while (from < lines.size()) {
    const std::size_t at = find_in(lines, pattern_.anchor, from);
    if (at == std::string_view::npos) return;
    const std::size_t begin = from + behind_last_break(lines.substr(from, at - from));
    const std::size_t end = first_break(lines, at);
    if (end - begin <= kMostPerfLineBytes) {
      if (const auto times = match_perf_line(pattern_, lines.substr(begin, end - begin))) {
        found(*times);
      }
    }
    from = end + 1;
  }
}

}  // namespace envgen
