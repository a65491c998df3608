#pragma once
// Values as all notations write them, and how they look: whether a text that may be a sentence has
// a credential or a word there.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace envgen {

inline constexpr std::size_t kLongestWord = 15;  // of a sentence

// Returns the span in the brackets or quotes that open at `at`; an empty one at 0 if none do.
Span enclosed(std::string_view text, std::size_t at);
// Reads the value at `at`: what is in brackets, or in quotes, else all up to one of `ends`.
Span read_value(std::string_view text, std::size_t at, std::string_view ends);

// True for "Incorrect", "found", "FILE" of a usage, and for a text without ASCII's letters and
// digits.
bool is_ordinary(std::string_view word);
// True for numbers with their units, and for words unless `only_numbers`.
bool is_counted(std::string_view value, bool only_numbers);
// True for a word that has letters and digits, as most keys have and words of a sentence do not.
bool is_mixed(std::string_view word);
// True for "node12", "rank-0", "v2": words that end in a number.
bool is_numbered(std::string_view word);
// True for letters and digits with '_' and '-', at least `least`; no name, time or address.
bool is_random(std::string_view word, std::size_t least);

// True for a word that is one of `table` in any case.
bool is_one_of(std::string_view word, const auto& table) {
  if (word.size() > kLongestWord) return false;
  const std::string name = canonical(word);
  return std::ranges::find(table, name) != table.end();
}

}  // namespace envgen
