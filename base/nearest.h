#pragma once
// "Did you mean ...?": finds the word of a list that the user probably meant. Upper and lower case
// are equal, and so are "-" and "_".

#include <cstddef>
#include <span>
#include <string_view>

namespace base {

// Returns the number of characters to insert, remove, change or exchange with their neighbour. If
// it is more than `most`, or a word has more than 64 characters, returns `most` + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

// Returns the first of the nearest `words` with at most `most` edits, or "" if no word is that
// near.
std::string_view nearest_within(std::string_view word, std::span<const std::string_view> words,
                                std::size_t most);

// Returns the nearest word with at most one edit per three characters (at least one). If there is
// none and `word` has four characters or more, returns the only word that contains `word`, or "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);

}  // namespace base
