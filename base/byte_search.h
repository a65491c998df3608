#pragma once
// Fast searches in the output of a job. Each step compares 16 bytes with the vector instructions
// that every CPU of the architecture has. libc's word search is slower for short lines, because
// each call prepares a table first.

#include <cstddef>
#include <string_view>

namespace base {

// Returns the first index >= `from` where `word` begins, or npos. `word` must not be empty.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from);

// The line around a byte. The "\n" or "\r" that ends the line is not part of it.
struct LineAround {
  std::size_t begin = 0;
  std::size_t end = 0;   // the text's size if the line has no end
  bool escaped = false;  // the line contains an escape character
};
// Returns the line that contains the byte at the index `at`. That byte must not be a line end. The
// result begins at `from` at the earliest, even if the line begins before it.
LineAround line_around(std::string_view text, std::size_t from, std::size_t at);

}  // namespace base
