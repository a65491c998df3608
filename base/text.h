#pragma once
// Small text functions for code that reads files and options or writes messages. No function here
// knows the meaning of a text. A blank is what C calls a space: space, tab, line end, \v, \f, \r.

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace base {

// Returns `text` without the blanks at both ends.
std::string_view trimmed(std::string_view text);

// The take_ functions remove one piece, and the separator after it, from the front of `rest` and
// return the piece. It ends at `separator`, at the end of the line, or, for a word, at a blank. If
// none follows, the piece is all of `rest`.
std::string_view take_part(std::string_view& rest, char separator);
inline std::string_view take_line(std::string_view& rest) { return take_part(rest, '\n'); }
std::string_view take_word(std::string_view& rest);  // "" if no word is left

// Returns all parts, including empty ones. "" has one part, "a," has two.
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> words_of(std::string_view text);
std::string joined(const std::vector<std::string>& parts, std::string_view separator);
// Joins texts. One call needs less code than an operator+ for each text.
std::string concat(std::initializer_list<std::string_view> parts);

std::string lowercased(std::string_view text);  // ASCII letters only
bool is_digits(std::string_view text);          // false if empty

// Returns all of `text` as a number, or nullopt if it is not a number that fits in T. A "-" is
// accepted if T is signed.
template <class T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value = 0;
  const char* end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is the next argument.
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// parse_number() without a sign: decimal digits alone.
template <class T>
std::optional<T> parse_count(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<T>(text);
}

// Returns a text for a message: in double quotes, at most the first 80 bytes, control characters
// escaped.
std::string quoted(std::string_view text);
// Returns a text as one word for a shell, in single quotes.
std::string shell_quoted(std::string_view text);
// Returns a number of bytes as "999 B", "1.5 KiB" or "4.0 GiB".
std::string size_text(std::uint64_t bytes);
// Returns a duration as "30 s", "2.5 s" or "0.05 s".
std::string seconds(std::int64_t ms);

}  // namespace base
