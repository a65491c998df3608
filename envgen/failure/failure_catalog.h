#pragma once
// What the lines of a failed job mean: rows of patterns with a class, a role, what to do, and
// whether starting again can help. The rows that the program brings are failures.json, beside this
// file; an image adds its own. Not the search for the line: that is find_cause.
//
// A pattern is one line's text with `*` for anything between its pieces; `^` in front and `$` at
// the end hold it to the line's beginning (without prefixes such as `[rank1]:`) and end. Upper and
// lower case differ. There are no regular expressions: a line is looked at in time that grows with
// its length and the number of patterns.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// kRoot: the line shows what went wrong. kVictim: only that another rank, or the launcher's child,
// failed. kNoise: the line tells nothing, whatever else it looks like.
enum class FailureRole : std::uint8_t { kRoot, kVictim, kNoise };
// Whether the same start can end otherwise. kNo is said only where it cannot.
enum class RestartHelps : std::uint8_t { kUnknown, kYes, kNo };

std::string_view role_name(FailureRole role);         // "root", "victim", "noise"
std::string_view restart_name(RestartHelps restart);  // "unknown", "yes", "no"

struct FailureRow {
  std::string id;
  std::string failure_class;  // "cuda-oom"
  FailureRole role = FailureRole::kRoot;
  RestartHelps restart = RestartHelps::kUnknown;
  std::string advice;  // what to do, in a sentence without its full stop
  // Of two lines the heavier one is the cause: 5 says it by itself, 4 as an exception does that
  // nobody knows, 3 is a victim's or is often tried again, less is a launcher's.
  int weight = 5;
  bool only_exceptions = false;  // for the last line of a traceback alone
  bool added = false;            // by the image: goes before those that the program brings
  bool ends = false;             // who says it ends, or is told to: no job goes on behind it
  int exit_code = -1;            // with which a process ends that says it; -1: any
  // Beginnings of the ids of rows whose line, close to one of this row, is its reason.
  std::vector<std::string> by;
};

class FailureCatalog {
 public:
  static constexpr std::size_t kMaxRows = 400;
  static constexpr int kExceptionWeight = 4;

  // The rows that the program brings.
  static FailureCatalog shipped();
  // Adds the rows of a file of the image. What was wrong, by row; the others are added.
  std::vector<Error> add(std::string_view json, std::string_view where);

  struct Match {
    const FailureRow* row = nullptr;  // nullptr: it is known by none
    std::size_t at = 0;               // where in the line its first piece begins
  };
  // The row that `text`, a line without prefixes, is known by. `exception`: it ends a traceback.
  [[nodiscard]] Match match(std::string_view text, bool exception) const;
  [[nodiscard]] const std::vector<FailureRow>& rows() const { return rows_; }

 private:
  struct Pattern {
    std::size_t row;
    std::vector<std::string> pieces;  // none is empty
    bool at_start, at_end;
    std::array<std::uint16_t, 2> grams;  // two of its pairs of letters, as bits of a line's set
  };
  std::vector<Error> add_rows(std::string_view json, std::string_view where, bool added);
  Status add_pattern(std::string_view text, std::size_t row, std::string_view where);

  std::vector<FailureRow> rows_;
  std::vector<Pattern> patterns_;
};

}  // namespace envgen
