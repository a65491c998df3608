#pragma once
// Keys and their values, in all notations that name a value. Between the two are characters that
// close the key (quotes, brackets, an index), blanks, and a sign. Examples: key=value, "key":
// "value", ("key", "value"), key["key"] = "value", <key>value</key>, --key value, key("value"),
// key[]=value, a column of a table. An object can also contain such a pair as its members "name"
// and "value", in either order. A value can be quoted, a list or an object.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace base {

// The kind of a text. In a command and in printed text, "--token VALUE" has a value. In printed
// text, a line "secret_key: VALUE" has a value, too.
enum class Text : unsigned char { kSentence, kCommand, kPrinted };

// Returns true if a value with a name of this kind is a credential. A value of the kind kCounted
// can also be a number.
bool is_credential(NameKind kind, std::string_view value);

class Notation {
 public:
  explicit Notation(Text kind) : kind_(kind) {}

  // Records a character between two words.
  void pass(char c);
  // Returns the span of the credential that the word at [begin, end) names, or an empty span if the
  // word names no credential.
  [[nodiscard]] Span value_of(std::string_view text, std::size_t begin, std::size_t end) const;

 private:
  [[nodiscard]] bool is_entry(std::string_view text, std::size_t begin) const;
  [[nodiscard]] Span structured(std::string_view text, const Key& key) const;
  [[nodiscard]] Span in_sentence(std::string_view text, const Key& key) const;

  Text kind_;
  int braces_ = 0;  // braces that are open in this line
};

}  // namespace base
