#pragma once
// The key of a credential in a text, with the characters between the key and its value.

#include <cstddef>
#include <string_view>

#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace base {

struct Key {
  NameKind kind = NameKind::kOrdinary;
  std::size_t begin = 0;
  std::size_t word_end = 0;
  std::size_t end = 0;    // after the quote, bracket or index that closes the key
  bool closed = false;    // a closing character follows, so the key is not a word of a sentence
  std::size_t sign = 0;   // after blanks
  char mark = '\0';       // the sign: '=', ':', ','; or ' ' for a blank alone, or NUL
  std::size_t value = 0;  // after the sign
};

// Reads from the word at [begin, end) to the sign after it.
Key key_at(std::string_view text, std::size_t begin, std::size_t end);

// Returns the span of the value if the word at [begin, end) and the value belong to an element.
// Examples: `<KEY a="b">VALUE</KEY>`, `<entry key="KEY">VALUE</entry>`,
// `<name>KEY</name><value>VALUE</value>`.
Span value_of_element(std::string_view text, std::size_t begin, std::size_t end);

// Returns the span of the value if the word at [begin, end) is "value" before a "name" of a
// credential: `{"value": "...", "name": "KEY"}`.
Span value_before_name(std::string_view text, std::size_t begin, std::size_t end);
// Returns where the second name ends in `{"name": "KEY", "value": "..."}`. Otherwise returns `at`,
// the end of the word.
std::size_t over_value_word(std::string_view text, std::size_t begin, std::size_t at);

}  // namespace base
