#pragma once
// "Did you mean ...?": finds the word of a list that the user probably meant. Upper and lower case
// are equal, and so are "-" and "_".

#include <cstddef>
#include <span>
#include <string_view>

namespace base {

// Returns the number of edits that turn `a` into `b`: characters inserted, removed, changed, or
// exchanged with a neighbour. Returns `most` + 1 if there are more than `most` edits, or if a word
// has more than 64 characters.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

// Returns the word that needs the fewest edits, and at most `most`. Returns the first of several
// such words, or "" if each word needs more edits.
std::string_view nearest_within(std::string_view word, std::span<const std::string_view> words,
                                std::size_t most);

// Returns the nearest word with at most one edit per three characters of `word` (at least one
// edit). If no word is that near and `word` has at least four characters, returns the only word
// that contains `word`. Returns "" if none or several contain it.
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);

}  // namespace base
