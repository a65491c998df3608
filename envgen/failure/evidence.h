#pragma once
// Finds the lines of printed output that indicate a failure. find_cause.h decides which of them is
// the cause.

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

// How serious a line looks: from one that most jobs survive to one that ends a process.
enum class Form : std::uint8_t {
  kInfo,    // a logger's line at INFO or below
  kHeard,   // a line that a logger marks as WARNING
  kPlain,   // text without a level, or with a level but not in the catalogue
  kError,   // a line of the catalogue that a logger marks as an error, or a traceback that a logger
            // printed
  kEnding,  // an uncaught exception, or a row with FailureRow::ends
};

struct Evidence {
  std::size_t line = 0;             // index in Printed::lines
  std::size_t first = 0;            // first line of its traceback; `line` without a traceback
  std::size_t at = 0;               // index of the byte in the line where the matched text begins
  const FailureRow* row = nullptr;  // nullptr: no row of the catalogue matches
  Form form = Form::kPlain;
  int weight = 0;         // importance; -1: ignored, because a second line is more precise
  bool bare = false;      // reports that a process ended, but not why
  bool cut = false;       // a traceback without its final exception line; `bare` is set too
  bool alone = false;     // only an exception's name and message, which any program may print
  bool whole = false;     // an exception with its traceback
  bool doubtful = false;  // a traceback after a logger's error: the program may have caught it
  // Numbers of lines before this line: of ordinary output, and of ordinary output that shows
  // progress.
  std::size_t ordinary = 0, fresh = 0;

  [[nodiscard]] bool is_victim() const {
    return row != nullptr && row->role == FailureRole::kVictim;
  }
};

struct Printed {
  std::vector<PrintedLine> lines;
  std::vector<Evidence> evidence;  // sorted by line
  WorkShapes work;
  std::size_t ordinary = 0, fresh = 0;  // as in Evidence, but of all lines
};

// Reads the evidence in `printed`. That may be the output of several processes; prefixes may tell
// which process printed a line.
Printed read_evidence(std::string_view printed, const FailureCatalog& catalog);

}  // namespace envgen
