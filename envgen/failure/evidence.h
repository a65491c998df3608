#pragma once
// Finds the lines of printed output that indicate a failure, each with its form and position. Does
// not decide which of them is the cause: see find_cause.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"
#include "envgen/failure/printed_line.h"
#include "envgen/failure/work_shapes.h"

namespace envgen {

// The form of a line, ordered from what most jobs survive to what ends a process.
enum class Form : std::uint8_t {
  kInfo,    // a logger's line at INFO or below
  kHeard,   // a logger's line at WARNING
  kPlain,   // text without a level, or a level and text unknown to the catalogue
  kError,   // a known line that a logger marks as an error, a traceback that a logger printed
  kEnding,  // an uncaught exception, or a row with FailureRow::ends
};

struct Evidence {
  std::size_t line = 0;             // index in Printed::lines
  std::size_t first = 0;            // first line of its traceback; `line` without a traceback
  std::size_t at = 0;               // byte of the line where the matched text begins
  const FailureRow* row = nullptr;  // nullptr: no row of the catalogue matches
  Form form = Form::kPlain;
  int weight = 0;         // -1: withdrawn, a second line is more precise
  bool bare = false;      // reports that a process ended, but not why
  bool cut = false;       // a traceback without its final exception line; `bare` is set too
  bool alone = false;     // an exception's name and message, which any program may print
  bool whole = false;     // an exception with its traceback
  bool doubtful = false;  // a traceback after a logger's error, perhaps caught
  // Number of lines of ordinary output before this line; `fresh` counts those that show progress.
  std::size_t ordinary = 0, fresh = 0;

  [[nodiscard]] bool is_victim() const {
    return row != nullptr && row->role == FailureRole::kVictim;
  }
};

struct Printed {
  std::vector<PrintedLine> lines;
  std::vector<Evidence> evidence;  // sorted by line
  WorkShapes work;
  std::size_t ordinary = 0, fresh = 0;  // as in Evidence, for all lines
};

// Reads `printed`, which may hold the output of several processes, with or without prefixes that
// distinguish them.
Printed read_evidence(std::string_view printed, const FailureCatalog& catalog);

}  // namespace envgen
