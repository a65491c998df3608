#pragma once
// Recognizes the names of secrets among variables, options and keys.

#include <string_view>

namespace base {

// How much the name of a value says about it.
enum class NameKind : unsigned char {
  kOrdinary,  // no credential
  kCounted,   // credentials or a number, as in "tokens"; the value decides
  kWord,    // a credential in an assignment, possibly a word in a sentence: "key", "token", "auth"
  kSecret,  // a credential also in a sentence: "password", "api_key"
};

// Classifies the name of a variable, option or key in any case, with '_', '-', '.' or ' ' between
// its parts.
NameKind kind_of_name(std::string_view name);

inline bool is_secret_name(std::string_view name) {
  return kind_of_name(name) != NameKind::kOrdinary;
}

}  // namespace base
