#pragma once
// The names that secrets have.

#include <string_view>

namespace envgen {

// True for a variable, option or key whose value must not be shown, in any case and with '_', '-'
// or '.' between its parts: PASSWORD, SECRET, ACCESS_KEY and their like anywhere in the name, TOKEN
// or KEY at its end, or AK, SK, PASS, PWD, AUTH and their like as a part.
bool is_secret_name(std::string_view name);

}  // namespace envgen
