#pragma once
// The file in $TRAINIT_ENV, with which a hook exports variables. It has the format of GitHub
// Actions:
//
//   NAME=VALUE           the rest of the line as it stands; quotes are part of the value
//   NAME<<DELIMITER      a value of several lines, up to a line that is just DELIMITER
//   line 1
//   DELIMITER
//
// Empty lines and lines that begin with '#' are ignored. The last line may lack its newline.

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"

namespace engine {

inline constexpr std::size_t kMaxExportBytes = 1U << 20;

// Returns the exports as kSet edits, in the order of the lines. Returns an Error (where:
// "$TRAINIT_ENV: line 3") if the text has one of these faults:
// - a line without '=', or a name that is not a shell name
// - a NUL, or a delimiter whose closing line is missing
// - a variable that is too long for an environment of Linux
// - more than kMaxExportBytes
// The Error repeats no value, which may be a secret.
base::Result<std::vector<base::EnvEdit>> parse_hook_exports(std::string_view text);

}  // namespace engine
