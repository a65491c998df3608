#pragma once
// Finds the value that belongs to a key, in all notations. Between key and value are characters
// that close the key (quotes, brackets, an index), blanks, and a sign. Examples: key=value, "key":
// "value", ("key", "value"), key["key"] = "value", <key>value</key>, --key value, key("value"),
// key[]=value, a column of a table. An object can also contain the pair as two members, "name" and
// "value", in either order. A value can be quoted, a list or an object.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_text.h"

namespace base {

// The kind of a text. In a command and in printed text, the word after "--token" is its value. In
// printed text, a line "secret_key: VALUE" contains a value, too.
enum class Text : unsigned char { kSentence, kCommand, kPrinted };

// Returns true if `value`, whose name has the kind `kind`, is a credential. With kCounted, a number
// is not a credential.
bool is_credential(NameKind kind, std::string_view value);

class Notation {
 public:
  explicit Notation(Text kind) : kind_(kind) {}

  // Tracks braces: to be called with each character between two words.
  void pass(char c);
  // Returns the span of the credential whose name is the word at [begin, end). Returns an empty
  // span if the word names no credential.
  [[nodiscard]] Span value_of(std::string_view text, std::size_t begin, std::size_t end) const;

 private:
  [[nodiscard]] bool is_entry(std::string_view text, std::size_t begin) const;
  [[nodiscard]] Span structured(std::string_view text, const Key& key) const;
  [[nodiscard]] Span in_sentence(std::string_view text, const Key& key) const;

  Text kind_;
  int braces_ = 0;  // braces that are open in this line
};

}  // namespace base
