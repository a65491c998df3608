#pragma once
// Searches in bytes that a job prints, sixteen at a time with what each CPU of the architecture
// has: libc's search for a word prepares a table in each call, which costs more than a line does.

#include <cstddef>
#include <string_view>

namespace envgen {

// The first place of `word`, which is not empty, at `from` or behind it; npos: there is none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from);

// The line that the byte at `at` is in: it ends with "\n" or "\r", which are not part of it.
struct LineAround {
  std::size_t begin = 0;
  std::size_t end = 0;   // the text's size: it has no end there
  bool escaped = false;  // it has an escape character
};
// A line does not begin before `from`. The byte at `at` ends none.
LineAround line_around(std::string_view text, std::size_t from, std::size_t at);

}  // namespace envgen
