#pragma once
// Small text: the pieces that readers of files and options, and writers of messages, share. Nothing
// here knows what a text means. Blanks are C's: space, tab, line end, \v, \f, \r.

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace envgen {

// Without the blanks at both ends.
std::string_view trimmed(std::string_view text);

// Each cuts a piece and what ended it off the front of `rest`: up to `separator`, to the end of the
// line, or a word, which blanks end. Without a separator all of it is the piece.
std::string_view take_part(std::string_view& rest, char separator);
inline std::string_view take_line(std::string_view& rest) { return take_part(rest, '\n'); }
std::string_view take_word(std::string_view& rest);  // "": there is none left

// All parts, empty ones too: "" has one, "a," has two.
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> words_of(std::string_view text);
std::string joined(const std::vector<std::string>& parts, std::string_view separator);
// One call, where each + between texts would be one.
std::string concat(std::initializer_list<std::string_view> parts);

std::string lowercased(std::string_view text);  // ASCII's letters
bool is_digits(std::string_view text);          // and not empty

// All of `text` as a number that fits, a "-" before it where T has one.
template <class T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value = 0;
  const char* end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is the next argument.
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// The same without a sign: decimal digits alone.
template <class T>
std::optional<T> parse_count(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<T>(text);
}

// For a message: in double quotes, the first 80 bytes, without control characters.
std::string quoted(std::string_view text);
// For a shell: one word of it, in single quotes.
std::string shell_quoted(std::string_view text);
// "30 s", "2.5 s", "0.05 s"
std::string seconds(std::int64_t ms);

}  // namespace envgen
