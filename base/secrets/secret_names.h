#pragma once
// The names that secrets have.

#include <string_view>

namespace envgen {

// How much the name of a value says about the value.
enum class NameKind : unsigned char {
  kOrdinary,  // nothing
  kCounted,   // "tokens": credentials, or a number of tokens; the value decides
  kWord,      // a credential in an assignment; in a sentence also a word: "key", "token", "auth"
  kSecret,    // a credential in a sentence, too: "password", "api_key"
};

// Reads a variable, option or key in any case, with '_', '-', '.' or ' ' between its parts.
NameKind kind_of_name(std::string_view name);

inline bool is_secret_name(std::string_view name) {
  return kind_of_name(name) != NameKind::kOrdinary;
}

}  // namespace envgen
