#pragma once
// Recognizes the names of secrets among variables, options and keys.

#include <string_view>

namespace base {

// The kind of a value, as its name shows.
enum class NameKind : unsigned char {
  kOrdinary,  // no credential
  kCounted,   // may name credentials or a number, as "tokens"; the value decides
  kWord,    // names a credential in an assignment; in a sentence it may be a word: "key", "token",
            // "auth"
  kSecret,  // names a credential in an assignment and in a sentence: "password", "api_key"
};

// Classifies the name of a variable, option or key. Its letters can have any case, and its parts
// can be separated by '_', '-', '.' or ' '.
NameKind kind_of_name(std::string_view name);

inline bool is_secret_name(std::string_view name) {
  return kind_of_name(name) != NameKind::kOrdinary;
}

}  // namespace base
