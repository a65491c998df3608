#pragma once
// "Did you mean": which of a list of words somebody may have meant who typed another one. Letters'
// case, and "-" or "_", make no difference.

#include <cstddef>
#include <span>
#include <string_view>

namespace envgen {

// How many characters have to be inserted, removed, changed or exchanged with their neighbour;
// more than `most` is `most` + 1. For words of up to 64 characters; longer ones are `most` + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

// The first of the nearest of `words`, with no more edits than `most`; "" where there is none.
std::string_view nearest_within(std::string_view word, std::span<const std::string_view> words,
                                std::size_t most);

// With at most one edit for every three characters; or else the only one that has `word` as a part,
// from four characters on.
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);

}  // namespace envgen
