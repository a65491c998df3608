#pragma once
// The catalogue of known failure lines. Each row has patterns, a class, a role, advice, and whether
// a restart can help. The program's own rows are in failures.json, beside this file; an image can
// add rows. The search for the line is in find_cause.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// The meaning of a line:
// - kRoot: the cause of the failure.
// - kVictim: only that another rank, or the launcher's child, failed.
// - kNoise: nothing, although it looks like an error.
enum class FailureRole : std::uint8_t { kRoot, kVictim, kNoise };
// Whether a new start of the same command can succeed. kNo only if it certainly cannot.
enum class RestartHelps : std::uint8_t { kUnknown, kYes, kNo };

std::string_view role_name(FailureRole role);         // "root", "victim", "noise"
std::string_view restart_name(RestartHelps restart);  // "unknown", "yes", "no"

struct FailureRow {
  std::string id;
  std::string failure_class;  // "cuda-oom"
  FailureRole role = FailureRole::kRoot;
  RestartHelps restart = RestartHelps::kUnknown;
  std::string advice;  // a sentence without its full stop
  // How well the line explains a failure. The cause is the line with the highest weight:
  // - 5: the line alone shows the cause.
  // - 4: the line is as vague as an unknown exception.
  // - 3: the line of a victim, or of an operation that is often retried.
  // - below 3: the line of a launcher.
  int weight = 5;
  bool only_exceptions = false;  // matches only the last line of a traceback
  bool added = false;            // added by the image: takes precedence over the program's own rows
  // True if a job never continues after this line: the process that prints it ends, or was asked to
  // end.
  bool ends = false;
  int exit_code = -1;  // exit code that the process must have for this row to apply; -1: any
  // Beginnings of ids of other rows. A line of such a row, close to a line of this row, is the
  // reason for it.
  std::vector<std::string> by;
};

class FailureCatalog {
 public:
  static constexpr std::size_t kMaxRows = 400;
  static constexpr int kExceptionWeight = 4;

  // Returns the program's own rows.
  static FailureCatalog shipped();
  // Adds the rows of an image's file. Returns one error for each invalid row or pattern; the other
  // rows are added.
  std::vector<base::Error> add(std::string_view json, std::string_view where);

  struct Match {
    const FailureRow* row = nullptr;  // nullptr: no row matches
    std::size_t at = 0;               // where the first matched piece begins in the line
  };
  // Returns the best row for `text`, a line without prefixes. `exception`: the line ends a
  // traceback.
  [[nodiscard]] Match match(std::string_view text, bool exception) const;
  [[nodiscard]] const std::vector<FailureRow>& rows() const { return rows_; }

 private:
  struct Pattern {
    std::size_t row;
    std::vector<std::string> pieces;  // the literal texts between the wildcards; none is empty
    bool at_start, at_end;
    // Hashes of two letter pairs of the pattern. A line without these pairs cannot match, which is
    // faster to check than the pattern.
    std::array<std::uint16_t, 2> grams;
  };
  std::vector<base::Error> add_rows(std::string_view json, std::string_view where, bool added);
  base::Status add_pattern(std::string_view text, std::size_t row, std::string_view where);

  std::vector<FailureRow> rows_;
  std::vector<Pattern> patterns_;
};

}  // namespace envgen
