#pragma once
// The key of a credential in a text, such as `"api_key"` in `"api_key": "VALUE"`, and the
// characters between the key and its value.

#include <cstddef>
#include <string_view>

#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace base {

struct Key {
  NameKind kind = NameKind::kOrdinary;
  std::size_t begin = 0;
  std::size_t word_end = 0;
  std::size_t end = 0;   // index after the quote, bracket or index that closes the key
  bool closed = false;   // a quote or bracket closes the key, so it is not a word of a sentence
  std::size_t sign = 0;  // index of the sign, after any blanks
  char mark = '\0';  // the sign: '=', ':' or ','; ' ' if only blanks follow the key; NUL if nothing
                     // separates
  std::size_t value = 0;  // index after the sign
};

// Reads the key at [begin, end) and the sign after it. Does not set Key::kind.
Key key_at(std::string_view text, std::size_t begin, std::size_t end);

// Returns the span of the value if the word at [begin, end) names the value of an XML element.
// Examples: `<KEY a="b">VALUE</KEY>`, `<entry key="KEY">VALUE</entry>`,
// `<name>KEY</name><value>VALUE</value>`. Returns an empty span otherwise.
Span value_of_element(std::string_view text, std::size_t begin, std::size_t end);

// Returns the span of the value in `{"value": "...", "name": "KEY"}`: the word at [begin, end) is
// "value", and the "name" after it is that of a credential. Returns an empty span otherwise.
Span value_before_name(std::string_view text, std::size_t begin, std::size_t end);
// Returns the end of the word "value" in `{"name": "KEY", "value": "..."}`, where the word KEY
// begins at `begin` and ends at `at`. Returns `at` if no such word follows.
std::size_t over_value_word(std::string_view text, std::size_t begin, std::size_t at);

}  // namespace base
