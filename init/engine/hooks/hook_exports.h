#pragma once
// The file in $TRAINIT_ENV, by which a hook exports variables. Of GitHub Actions' form:
//
//   NAME=VALUE           the rest of the line as it stands; quotes are part of the value
//   NAME<<DELIMITER      a value of several lines, up to a line that is just DELIMITER
//   line 1
//   DELIMITER
//
// Empty lines and lines that begin with '#' say nothing. The last line may lack its end.

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace envgen {

inline constexpr std::size_t kMaxExportBytes = 1U << 20;

// kSet edits, in the order of the lines. An Error (where: "$TRAINIT_ENV: line 3") for a line
// without '=', a name that no shell takes, a NUL, a delimiter that does not come again, a variable
// that Linux takes in no environment, or a text of more than kMaxExportBytes. It repeats no value,
// which may be a secret.
Result<std::vector<EnvEdit>> parse_hook_exports(std::string_view text);

}  // namespace envgen
