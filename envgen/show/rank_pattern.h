#pragma once
// Patterns: the values of all ranks of a node as one text, if they differ only in consecutive
// numbers.

#include <string>
#include <vector>

namespace envgen {

// Returns "0-7" for the values "0" to "7", "/logs/rank-{0..7}" for "/logs/rank-0" to
// "/logs/rank-7", and the value itself if all are equal. Returns "" for other values.
std::string pattern_of(const std::vector<std::string>& values);

// Returns the words of the values that are not equal in all of them, in one text for each value.
// `common` becomes the equal words, with "..." for the others. Requires the same number of words in
// each value; otherwise returns `values` and `common` becomes "".
std::vector<std::string> differing_words(const std::vector<std::string>& values,
                                         std::string& common);

}  // namespace envgen
