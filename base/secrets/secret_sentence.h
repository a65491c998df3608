#pragma once
// Values in texts that may be sentences. The clearer the signs after a key are, the more of the
// text after them is read as its value.

#include <string_view>

#include "base/secrets/secret_key.h"
#include "base/secrets/secret_text.h"

namespace base {

// Returns the span of the value after the sign of `key`, as in "password = VALUE". With `option`, a
// blank is a sign, too: "--password VALUE".
Span value_in_sentence(std::string_view text, const Key& key, bool option);

// Returns the span of the value near `key` without a sign of its own. Examples: "password ~ VALUE",
// "[password] VALUE", "the password of bob was set to VALUE", a cell of a table, a call.
Span value_nearby(std::string_view text, const Key& key);

// Returns true if `value`, the argument after the argument `name`, is its value: "api-key VALUE".
bool is_value_behind(std::string_view name, std::string_view value);

// Returns the span of the value in a line of YAML that begins with the key. A tag or an anchor can
// precede the value. The value can also be a block below the line. With `printed`, a single word
// after the key is a value, because no sentence has that form.
Span value_of_yaml(std::string_view text, const Key& key, bool printed);

}  // namespace base
