#pragma once
// Keys and their values, in all notations that name a value. Between the two stand what closes the
// key (quotes, brackets, an index), blanks, and a sign: key=value, "key": "value", ("key",
// "value"), key["key"] = "value", <key>value</key>, --key value, key("value"), key[]=value, a
// column of a table. An object whose members "name" and "value" are such a pair has both in either
// order. A value may be quoted, a list or an object.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace envgen {

// What a text is: in a command and in what a process prints, "--token VALUE" has a value; in what
// is printed, so has a line "secret_key: VALUE".
enum class Text : unsigned char { kSentence, kCommand, kPrinted };

// True where a value with a name of this kind is a credential: "tokens" may count.
bool is_credential(NameKind kind, std::string_view value);

class Notation {
 public:
  explicit Notation(Text kind) : kind_(kind) {}

  // Records a character between two words.
  void pass(char c);
  // Returns the span of the credential that the word at [begin, end) names; an empty span if the
  // word names none.
  [[nodiscard]] Span value_of(std::string_view text, std::size_t begin, std::size_t end) const;

 private:
  [[nodiscard]] bool is_entry(std::string_view text, std::size_t begin) const;
  [[nodiscard]] Span structured(std::string_view text, const Key& key) const;
  [[nodiscard]] Span in_sentence(std::string_view text, const Key& key) const;

  Text kind_;
  int braces_ = 0;  // open ones of this line
};

}  // namespace envgen
