#pragma once
// Values in texts that may be sentences. The surer the signs between a key and what follows, the
// more is taken for its value.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_text.h"

namespace envgen {

// Returns the span of the value behind the sign of `key`: "password: VALUE", "password = VALUE".
// `option` says that a blank is the sign, too: "--password VALUE".
Span value_in_sentence(std::string_view text, const Key& key, bool option);

// Returns the span of the value that stands near `key` without a sign of its own: "password ~
// VALUE", "[password] VALUE", "the password of bob was set to VALUE", a cell of a table, a call.
Span value_nearby(std::string_view text, const Key& key);

// True where an argument that follows the argument `name` is its value: "api-key VALUE".
bool is_value_behind(std::string_view name, std::string_view value);

// Returns the span of the value of a line of YAML, which the key begins: a tag or an anchor may
// stand before the value, and a block below the line may be the value. `printed` says that one word
// behind the key is a value, as no sentence has one there.
Span value_of_yaml(std::string_view text, const Key& key, bool printed);

}  // namespace envgen
