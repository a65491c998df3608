#pragma once
// Finds values in texts that may be sentences. If the signs after a key are clear, as '=', almost
// any text after them is a value. Otherwise only text that looks like a credential is one.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_text.h"

namespace base {

// Returns the span of the value after the sign of `key`, as in "password = VALUE". With `option`, a
// blank is a sign, too: "--password VALUE".
Span value_in_sentence(std::string_view text, const Key& key, bool option);

// Returns the span of the value after a key that has neither '=' nor ':'. Examples: "password ~
// VALUE", "[password] VALUE", "the password of bob was set to VALUE", a cell of a table, a call. At
// most four words may be between, and the value begins at most 128 characters after the key.
// Returns an empty span if no value is found.
Span value_nearby(std::string_view text, const Key& key);

// Returns true if the argument `value` is a credential because of the argument `name` before it, as
// in "api-key VALUE".
bool is_value_behind(std::string_view name, std::string_view value);

// Returns the span of the value in a line of YAML whose first word is the key. A tag or an anchor
// may precede the value. The value can also be the indented block below the line. With `printed`, a
// single word after the key is a value, because no sentence has that form.
Span value_of_yaml(std::string_view text, const Key& key, bool printed);

}  // namespace base
