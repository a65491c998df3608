#pragma once
// The words of an enum's values, as options, plans and messages spell them. The list of words is
// defined beside the enum.

#include <string_view>

namespace base {

template <class T>
struct Word {
  std::string_view word;
  T meaning;
};

// Returns the word of a value. The list must contain the value.
template <class T, int kCount>
constexpr std::string_view word_of(const Word<T> (&words)[kCount], T meaning) {
  for (const Word<T>& word : words) {
    if (word.meaning == meaning) return word.word;
  }
  return words[0].word;
}

}  // namespace base
