#include "envgen/formats/line_pattern.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/byte_search.h"
#include "base/printed_text.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading the pattern of a line";
constexpr std::string_view kBreaks = "\r\n";
constexpr std::size_t kDecimals = 6;
constexpr std::size_t kMaxDigits = 9;  // maximum number of digits of a decimal before the point
constexpr std::size_t kMaxCountDigits = 18;  // maximum number of digits of a count, which must fit
                                             // into 64 bits
constexpr std::size_t kGroup = 3;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || is_digit(c) || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// Removes a decimal from the front of `text`.
std::optional<std::int64_t> take_decimal(std::string_view& text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    if (digits == kMaxDigits) return std::nullopt;
    value = value * 10 + (text[digits] - '0');
  }
  std::size_t end = digits;
  std::size_t decimals = 0;
  // A point without a digit after it ends a sentence: "12."
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    for (++end; end < text.size() && is_digit(text[end]); ++end) {
      if (decimals == kDecimals) continue;
      value = value * 10 + (text[end] - '0');
      ++decimals;
    }
  } else if (digits == 0) {
    return std::nullopt;
  }
  constexpr std::array<std::int64_t, kDecimals + 1> kScale{1'000'000, 100'000, 10'000, 1000,
                                                           100,       10,      1};
  text.remove_prefix(end);
  return value * kScale[decimals];
}

// Removes a count from the front of `text`. If `grouped`, groups of three digits after a separator
// belong to it; otherwise it ends at the first separator.
std::optional<std::int64_t> take_count(std::string_view& text, bool grouped) {
  std::size_t end = digits_at(text, 0);
  if (end == 0) return std::nullopt;
  const char between = end <= kGroup && end < text.size() ? text[end] : '\0';
  if (grouped && (between == ',' || between == '_')) {
    while (end < text.size() && text[end] == between && digits_at(text, end + 1) == kGroup) {
      end += 1 + kGroup;
    }
  }
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (const char c : text.substr(0, end)) {
    if (!is_digit(c)) continue;
    if (++digits > kMaxCountDigits) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(end);
  return value;
}

// Returns true if a number can end before `rest`: in "12e3", "12.5.1" and "12,5" no number ends
// after 12.
bool ends_number(std::string_view rest) {
  if (rest.empty()) return true;
  if (is_word(rest[0])) return false;
  return !((rest[0] == '.' || rest[0] == ',') && digits_at(rest, 1) > 0);
}

// Removes `literal` from the front of `text`. A blank in it matches a run of blanks.
bool take_literal(std::string_view literal, std::string_view& text) {
  std::size_t at = 0;
  // A fast exit for most lines, which match exactly. Only a blank at the end can stand for a run.
  if (text.starts_with(literal)) {
    at = literal.size();
    while (literal.ends_with(' ') && at < text.size() && is_blank(text[at])) ++at;
    text.remove_prefix(at);
    return true;
  }
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

// Returns the longest word of `head`; if it has none, its longest part without blanks. Only a word
// cannot be divided by an escape: between other characters, colours may change.
std::string anchor_of(std::string_view head) {
  std::string_view longest;
  for (std::size_t at = 0; at < head.size();) {
    std::size_t end = at;
    while (end < head.size() && is_word(head[end])) ++end;
    if (end - at > longest.size()) longest = head.substr(at, end - at);
    at = end + 1;
  }
  const bool none = longest.empty();
  while (none && !head.empty()) {
    const std::string_view word = base::take_part(head, ' ');
    if (word.size() > longest.size()) longest = word;
  }
  return std::string(longest);
}

// Removes a count, and the pattern's text after it, from the front of the line.
std::optional<std::int64_t> take_count_and(std::string_view behind, bool last,
                                           std::string_view& text) {
  const auto take = [&](bool grouped) -> std::optional<std::int64_t> {
    std::string_view rest = text;
    const auto value = take_count(rest, grouped);
    if (!value || !take_literal(behind, rest)) return std::nullopt;
    text = rest;
    return value;
  };
  const bool goes_on = behind.starts_with(',') || behind.starts_with('_');
  if (!goes_on) return take(true);
  // In "12,500, loss" the number is 12,500, and not a 12 before a column with 500.
  const std::string_view before = text;
  const auto whole = last && behind == "," ? take(true) : std::nullopt;
  if (whole && !text.empty() && is_blank(text[0])) return whole;
  text = before;
  const auto plain = take(false);
  return plain ? plain : take(true);
}

std::optional<LineNumbers> match_at(const LinePattern& pattern, std::string_view text) {
  if (!take_literal(pattern.head, text)) return std::nullopt;
  LineNumbers numbers{};
  for (const LinePattern::Part& part : pattern.parts) {
    const bool last = &part == &pattern.parts.back();
    const auto value = part.decimal ? take_decimal(text) : take_count_and(part.behind, last, text);
    if (!value || (part.decimal && !take_literal(part.behind, text))) return std::nullopt;
    if (part.behind.empty() && !ends_number(text)) return std::nullopt;
    numbers[part.number] = *value;
  }
  return numbers;
}

// Returns where the pattern's head begins, going back from its anchor; npos if the head does not
// match. A blank in the head matches a run.
std::size_t head_begin(const LinePattern& pattern, std::string_view line, std::size_t anchor) {
  const std::string_view before = std::string_view(pattern.head).substr(0, pattern.anchor_at);
  if (line.substr(0, anchor).ends_with(before)) return anchor - before.size();
  std::size_t begin = anchor;
  for (std::size_t i = before.size(); i > 0; --i) {
    const char c = before[i - 1];
    if (begin == 0 || (c == ' ' ? !is_blank(line[begin - 1]) : c != line[begin - 1])) {
      return std::string_view::npos;
    }
    --begin;
    while (c == ' ' && begin > 0 && is_blank(line[begin - 1])) --begin;
  }
  return begin;
}

// Does the work of match_line() for a line without escapes. The first anchor is at `from` or later.
std::optional<LineNumbers> match_plain(const LinePattern& pattern, std::string_view line,
                                       std::size_t from) {
  for (std::size_t at = base::find_word(line, pattern.anchor, from); at != std::string_view::npos;
       at = base::find_word(line, pattern.anchor, at + 1)) {
    const std::size_t begin = head_begin(pattern, line, at);
    if (begin == std::string_view::npos) continue;
    if (const auto numbers = match_at(pattern, line.substr(begin))) return numbers;
  }
  return std::nullopt;
}

// Returns the position of the first line break at or after `from`; text.size() if there is no
// break.
std::size_t first_break(std::string_view text, std::size_t from) {
  const std::size_t newline = std::min(text.find('\n', from), text.size());
  return std::min(text.substr(0, newline).find('\r', from), newline);
}

// Returns the position after the last line break; 0 if there is no break.
std::size_t behind_last_break(std::string_view text) {
  const auto behind = [](std::string_view in, char c) -> std::size_t {
    const void* found = in.empty() ? nullptr : ::memrchr(in.data(), c, in.size());
    return found == nullptr
               ? 0
               : static_cast<std::size_t>(static_cast<const char*>(found) - in.data()) + 1;
  };
  const std::size_t newline = behind(text, '\n');
  return newline + behind(text.substr(newline), '\r');
}

// Returns "name" if `text` begins with "{name}"; otherwise "".
std::string_view name_in_front(std::string_view text) {
  if (!text.starts_with('{')) return {};
  std::size_t end = 1;
  while (end < text.size() && is_word(text[end])) ++end;
  if (end == 1 || end == text.size() || text[end] != '}') return {};
  return text.substr(1, end - 1);
}

std::string names_text(std::span<const LineNumber> known) {
  std::string text;
  for (const LineNumber& one : known) {
    text += (text.empty() ? "{" : ", {") + std::string(one.name) + "}";
  }
  return text;
}

}  // namespace

bool LinePattern::has(std::size_t number) const {
  return std::ranges::find(parts, number, &Part::number) != parts.end();
}

base::Result<LinePattern> parse_line_pattern(std::string_view text,
                                             std::span<const LineNumber> known) {
  const std::string whole = with_single_blanks(text);
  const auto bad = [&](const std::string& found) { return base::fail(kReading, whole, found, ""); };
  if (text.size() > kMaxPatternBytes) return bad("too long");
  if (whole.find_first_of(kBreaks) != std::string::npos) return bad("more than a line");
  LinePattern pattern;
  for (std::size_t at = 0; at < whole.size();) {
    const std::string_view name = name_in_front(std::string_view(whole).substr(at));
    std::string& before = pattern.parts.empty() ? pattern.head : pattern.parts.back().behind;
    if (name.empty()) {
      before += whole[at++];
      continue;
    }
    const auto found = std::ranges::find(known, name, &LineNumber::name);
    const auto number = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      return bad("{" + std::string(name) + "} is none of " + names_text(known));
    }
    if (pattern.has(number)) return bad("{" + std::string(name) + "} stands there twice");
    if (!pattern.parts.empty() && before.empty()) return bad("nothing between the two numbers");
    pattern.parts.push_back({.number = number, .decimal = found->decimal, .behind = ""});
    at += name.size() + 2;
  }
  if (pattern.parts.empty()) return bad("there is none of " + names_text(known));
  pattern.anchor = anchor_of(pattern.head);
  pattern.anchor_at = pattern.head.find(pattern.anchor);
  if (pattern.anchor.empty()) return bad("no text before the first number");
  for (const LinePattern::Part& part : pattern.parts) {
    if (!part.behind.empty() && is_digit(part.behind[0])) return bad("a digit behind a number");
  }
  return pattern;
}

std::optional<std::int64_t> parse_decimal(std::string_view text) {
  const auto value = take_decimal(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<LineNumbers> match_line(const LinePattern& pattern, std::string_view line) {
  if (line.find('\033') == std::string_view::npos) return match_plain(pattern, line, 0);
  return match_plain(pattern, base::plain_text(line), 0);
}

void LineScanner::add(std::string_view bytes, const Found& found) {
  if (passing_ || !begun_.empty()) {
    const std::size_t end = first_break(bytes, 0);
    const std::string_view rest = bytes.substr(0, end);
    passing_ = passing_ || begun_.size() + rest.size() > kMaxWatchedLineBytes;
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
  passing_ = rest.size() > kMaxWatchedLineBytes;
  if (!passing_) begun_ = rest;
}

void LineScanner::forget() {
  begun_.clear();
  passing_ = false;
}

// Searches the next anchor of each pattern. The line with the first anchor is matched next.
void LineScanner::search(std::string_view lines, const Found& found) const {
  std::vector<std::size_t> next(patterns_.size(), 0);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    next[i] = base::find_word(lines, patterns_[i].anchor, 0);
  }
  std::size_t from = 0;
  while (true) {
    const auto first = std::ranges::min_element(next);
    if (first == next.end() || *first == std::string_view::npos) return;
    const base::LineAround around = base::line_around(lines, from, *first);
    const std::string_view line = lines.substr(around.begin, around.end - around.begin);
    from = around.end;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (next[i] >= around.end) continue;
      if (line.size() <= kMaxWatchedLineBytes) {
        const auto numbers = around.escaped
                                 ? match_line(patterns_[i], line)
                                 : match_plain(patterns_[i], line, next[i] - around.begin);
        if (numbers) found(i, *numbers);
      }
      next[i] = base::find_word(lines, patterns_[i].anchor, around.end);
    }
  }
}

}  // namespace envgen
