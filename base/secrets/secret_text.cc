#include "base/secrets/secret_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace envgen {
namespace {

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

// What names the kind of the credential that follows.
bool is_scheme(std::string_view word) {
  constexpr std::array<std::string_view, 4> kSchemes = {"BEARER", "BASIC", "TOKEN", "DIGEST"};
  return std::ranges::find(kSchemes, canonical(word)) != kSchemes.end();
}

// Where the quote that stands at `quote` closes; one within quotes has a '\' before it.
std::size_t closing_quote(std::string_view text, std::size_t quote) {
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

}  // namespace

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_word(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }

std::string canonical(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string result(name);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(c));
  });
  return result;
}

std::size_t after(std::string_view text, std::size_t at, std::string_view set) {
  return std::min(text.find_first_not_of(set, at), text.size());
}

Span value_at(std::string_view text, std::size_t at) {
  const std::size_t begin = after(text, at, kQuotes);
  if (begin > at && text[begin - 1] != '\\') return {begin, closing_quote(text, begin - 1)};
  Span value = {begin, std::min(text.find_first_of(kWordEnds, begin), text.size())};
  if (is_scheme(text.substr(value.begin, value.end - value.begin))) {
    const std::size_t next = after(text, value.end, " \\");
    value.end = std::min(text.find_first_of(kWordEnds, next), text.size());
  }
  return value;
}

bool is_stand_in(std::string_view text, Span value) {
  std::string_view word = text.substr(value.begin, value.end - value.begin);
  if (word == kMask || word == "VALUE" ||
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

}  // namespace envgen
