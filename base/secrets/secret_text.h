#pragma once
// The scanner of words and values that the other secret_*.h files use.

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

inline constexpr std::string_view kMask = "***";
inline constexpr std::string_view kBlank = " \t\n\r\f\v";
inline constexpr std::string_view kQuotes = "\"'\\";  // '\\' is included because it precedes a
                                                      // quote within quotes
inline constexpr std::string_view kWordEnds = " \t\n\r\"'\\&;|<>()`";

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool empty() const { return end <= begin; }
};

inline std::string_view part_of(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}
// Returns the character at `at`, or NUL after the end.
inline char at_or_nul(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}

bool is_alnum(char c);
inline bool is_quote(char c) { return c == '"' || c == '\''; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_letter(char c) { return is_upper(c) || is_lower(c); }
// Returns true for the characters of names, options and tokens: letters, digits, '_', '-' and '.'.
bool is_word(char c);
// Returns a name in the form of a variable: "--hub.api-key" -> "HUB_API_KEY", "API key" ->
// "API_KEY", "apiKey" -> "API_KEY".
std::string canonical(std::string_view name);
// Returns the first index >= `at` whose character is not in `set`, or text.size().
std::size_t after(std::string_view text, std::size_t at, std::string_view set);
// Returns the span of the value that starts at `at`. A quoted value ends at its quote, any other
// value where a word of a shell or of an address ends. After "Bearer" or another authentication
// scheme, the span also includes the next word.
Span value_at(std::string_view text, std::size_t at);
// Returns the index of the quote that closes the one at `quote`, or of the line's end.
std::size_t closing_quote(std::string_view text, std::size_t quote);
// Returns true if the value is only a placeholder for a secret: "$NAME", "$(command)", None, null,
// true, false, the word VALUE, "***".
bool is_stand_in(std::string_view text, Span value);

}  // namespace base
