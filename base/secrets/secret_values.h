#pragma once
// Reads values in all notations, and decides by their appearance whether a value in a possible
// sentence is a credential or a word.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace base {

inline constexpr std::size_t kLongestWord = 15;  // maximum length of a word of a sentence

// Returns the span within the brackets or quotes that open at `at`, or the empty span {0, 0} if
// none open there.
Span enclosed(std::string_view text, std::size_t at);
// Returns the span of the value at `at`: the content of brackets or quotes, otherwise the text up
// to one of `ends`.
Span read_value(std::string_view text, std::size_t at, std::string_view ends);

// Returns true for words of a sentence or a usage text ("Incorrect", "found", "FILE"), and for a
// text without ASCII letters and digits.
bool is_ordinary(std::string_view word);
// Returns true for numbers with their units, separated by any signs. Words may be between them
// unless `only_numbers`.
bool is_counted(std::string_view value, bool only_numbers);
// Returns true for a word with letters and digits: most keys have both, most words do not.
bool is_mixed(std::string_view word);
// Returns true for lower-case words, each with an optional number at its end, joined by '_' or '-':
// "node12", "rank-0", "v2".
bool is_numbered(std::string_view word);
// Returns true if a word looks random: at least `least` letters and digits, '_' and '-', but no
// is_numbered() name, and no address ("0x..."). Letters and digits must both occur.
bool is_random(std::string_view word, std::size_t least);

// Returns true if `table` contains the word, in any case.
bool is_one_of(std::string_view word, const auto& table) {
  if (word.size() > kLongestWord) return false;
  const std::string name = canonical(word);
  return std::ranges::find(table, name) != table.end();
}

}  // namespace base
