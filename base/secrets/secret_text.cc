#include "base/secrets/secret_text.h"

#include <algorithm>

#include "base/constants/words.h"

namespace base {
namespace {

// Returns true for an authentication scheme: the credential is the word after it.
bool is_scheme(std::string_view word) {
  static constexpr auto kSchemes = words("BEARER", "BASIC", "TOKEN", "DIGEST");
  return std::ranges::find(kSchemes, canonical(word)) != kSchemes.end();
}

}  // namespace

bool is_alnum(char c) { return is_letter(c) || is_digit(c); }

bool is_word(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }

std::string canonical(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string result;
  // Only camelCase names are split, not names of classes: "SkLearn" must not get a part "SK".
  const bool camel = !name.empty() && is_lower(name[0]);
  char before = '\0';
  for (const char c : name) {
    if (camel && is_upper(c) && is_lower(before)) result += '_';
    const bool between = c == '-' || c == '.' || c == ' ';
    result += between ? '_' : is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
    before = c;
  }
  return result;
}

std::size_t after(std::string_view text, std::size_t at, std::string_view set) {
  return std::min(text.find_first_not_of(set, at), text.size());
}

std::size_t closing_quote(std::string_view text, std::size_t quote) {
  // A quote within quotes has a '\\' before it, and so has the one that closes it.
  const bool within = quote > 0 && text[quote - 1] == '\\';
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\n') return at;
    if (text[at] == '\\' && text[quote] == '"' && !within) {
      ++at;
    } else if (text[at] == text[quote]) {
      return within && text[at - 1] == '\\' ? at - 1 : at;
    }
  }
  return text.size();
}

namespace {

// Returns the end of the shell word at `at`. A '\\' before a blank continues the word: "ab\\ cd".
std::size_t word_end(std::string_view text, std::size_t at) {
  while (true) {
    at = std::min(text.find_first_of(kWordEnds, at), text.size());
    const bool escapes = at + 1 < text.size() && text[at] == '\\' && !is_alnum(text[at + 1]) &&
                         !kQuotes.contains(text[at + 1]);
    if (!escapes) return at;
    at += 2;
  }
}

}  // namespace

Span value_at(std::string_view text, std::size_t at) {
  const std::size_t begin = after(text, at, kQuotes);
  if (begin > at && text[begin - 1] != '\\') return {begin, closing_quote(text, begin - 1)};
  Span value = {begin, word_end(text, begin)};
  if (is_scheme(text.substr(value.begin, value.end - value.begin))) {
    const std::size_t next = after(text, value.end, " \\");
    value.end = word_end(text, next);
  }
  return value;
}

bool is_stand_in(std::string_view text, Span value) {
  std::string_view word = text.substr(value.begin, value.end - value.begin);
  static constexpr auto kNothing =
      words("VALUE", "None", "null", "nil", "true", "True", "false", "False");
  const bool masked = word.starts_with(kMask) &&
                      word.find_first_not_of(",;:.", kMask.size()) == std::string_view::npos;
  if (masked || std::ranges::find(kNothing, word) != kNothing.end() ||
      (word == "$" && text.substr(value.end).starts_with('('))) {
    return true;
  }
  if (!word.starts_with('$')) return false;
  word.remove_prefix(1);
  if (word.starts_with('{') && word.ends_with('}')) word = word.substr(1, word.size() - 2);
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return is_upper(c) || c == '_' || (c >= '0' && c <= '9');
  });
}

}  // namespace base
