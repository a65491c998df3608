#include "base/secrets/secret_values.h"

#include <algorithm>

namespace base {
namespace {

constexpr std::string_view kOpening = "([{";

// Returns the index of the bracket that closes the one at `open`. Returns the text's end if none
// closes it within kMax bytes.
std::size_t closing_bracket(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  // Without a limit, the same text would be read again for each of many nested brackets.
  constexpr std::size_t kMax = 4096;
  const std::size_t last = std::min(text.size(), open + kMax);
  for (std::size_t at = open; at < last; ++at) {
    if (is_quote(text[at])) {
      at = closing_quote(text, at);
    } else if (kOpening.contains(text[at])) {
      ++depth;
    } else if (std::string_view(")]}").contains(text[at]) && --depth == 0) {
      return at;
    }
  }
  return text.size();
}

// Returns the index of the quote after a prefix, as in Python's b'...' or a shell's $'...'. Returns
// `at` if no prefix and quote begin there.
std::size_t over_prefix(std::string_view text, std::size_t at) {
  const std::size_t quote = after(text, at, "bBrRuUfF$@");
  return quote - at <= 2 && is_quote(at_or_nul(text, quote)) ? quote : at;
}

}  // namespace

Span enclosed(std::string_view text, std::size_t at) {
  at = over_prefix(text, at);
  if (kOpening.contains(at_or_nul(text, at))) return {at + 1, closing_bracket(text, at)};
  const std::size_t quote = after(text, at, "\\");
  if (!is_quote(at_or_nul(text, quote))) return {};
  const std::string_view three = text.substr(quote, 3);
  if (three != "\"\"\"" && three != "'''") return {quote + 1, closing_quote(text, quote)};
  return {quote + 3, std::min(text.find(three, quote + 3), text.size())};
}

Span read_value(std::string_view text, std::size_t at, std::string_view ends) {
  Span value = enclosed(text, at);
  if (value.begin > 0) {
    // A shell reads 'ab'cd as one word.
    const char next = at_or_nul(text, value.end + 1);
    const bool joined = is_word(next) || std::string_view("$@#%^*+=~!").contains(next);
    if (joined && at_or_nul(text, value.end) != '\n') {
      value.end = std::min(text.find_first_of(kWordEnds, value.end + 1), text.size());
    }
    return value;
  }
  if (ends == kWordEnds) return value_at(text, at);
  return {at, std::min(text.find_first_of(ends, at), text.size())};
}

bool is_ordinary(std::string_view word) {
  if (std::ranges::none_of(word, is_alnum)) return true;
  return word.size() <= kLongestWord && (is_upper(word[0]) || is_lower(word[0])) &&
         (std::ranges::all_of(word.substr(1), is_lower) || std::ranges::all_of(word, is_upper));
}

bool is_counted(std::string_view value, bool only_numbers) {
  constexpr std::size_t kLongestNumber = 15;
  constexpr std::size_t kLongestWithUnit = 6;
  while (!value.empty()) {
    std::size_t size = 0;
    while (size < value.size() && is_alnum(value[size])) ++size;
    const std::string_view piece = value.substr(0, size);
    value.remove_prefix(std::min(size + 1, value.size()));
    if (piece.empty()) continue;
    const bool digits = std::ranges::all_of(piece, is_digit);
    const bool letters = std::ranges::none_of(piece, is_digit);
    if (letters ? only_numbers || size > kLongestWord
                : !is_digit(piece[0]) || size > (digits ? kLongestNumber : kLongestWithUnit)) {
      return false;
    }
  }
  return true;
}

bool is_mixed(std::string_view word) {
  return std::ranges::any_of(word, is_digit) && std::ranges::any_of(word, is_letter);
}

bool is_numbered(std::string_view word) {
  constexpr std::size_t kMaxDigits = 6;
  std::size_t letters = 0;
  std::size_t digits = 0;
  for (const char c : word) {
    const bool part = c == '_' || c == '-';
    if (!is_lower(c) && !is_digit(c) && !part) return false;
    if (is_lower(c) && digits > 0) return false;
    letters = is_lower(c) ? letters + 1 : 0;
    digits = is_digit(c) ? digits + 1 : 0;
    if (letters > kLongestWord || digits > kMaxDigits) return false;
  }
  return true;
}

bool is_random(std::string_view word, std::size_t least) {
  return word.size() >= least && is_mixed(word) && !is_numbered(word) && !word.starts_with("0x") &&
         std::ranges::all_of(word, [](char c) { return is_alnum(c) || c == '_' || c == '-'; });
}

}  // namespace base
