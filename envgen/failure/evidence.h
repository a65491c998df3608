#pragma once
// The lines of what was printed that speak of a failure, each with its form and its place. Not
// which of them is the cause: that is find_cause.

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

// How a line says it, from what most jobs survive to what ends a process.
enum class Form : std::uint8_t {
  kInfo,    // a logger's line at INFO or below
  kHeard,   // one at WARNING
  kPlain,   // text without a level, or with one and unknown to the catalogue
  kError,   // a known line that a logger marks as an error, a traceback that a logger printed
  kEnding,  // an exception that nothing caught, or a row that says so (FailureRow::ends)
};

struct Evidence {
  std::size_t line = 0;             // index in Printed::lines
  std::size_t first = 0;            // of its traceback; `line` without one
  std::size_t at = 0;               // byte of the line at which what it is known by begins
  const FailureRow* row = nullptr;  // nullptr: no row knows it
  Form form = Form::kPlain;
  int weight = 0;         // -1: taken back, another line says it better
  bool bare = false;      // tells that something ended, and not why
  bool cut = false;       // a traceback whose exception is not there; bare too
  bool alone = false;     // an exception's name and message, which anything may print
  bool whole = false;     // an exception with its traceback
  bool doubtful = false;  // a traceback behind a logger's error: perhaps it was caught
  // Lines of ordinary output before it, and those of them that count on.
  std::size_t ordinary = 0, fresh = 0;

  [[nodiscard]] bool is_victim() const {
    return row != nullptr && row->role == FailureRole::kVictim;
  }
};

struct Printed {
  std::vector<PrintedLine> lines;
  std::vector<Evidence> evidence;  // sorted by line
  WorkShapes work;
  std::size_t ordinary = 0, fresh = 0;  // as in Evidence, of all lines
};

// `printed`: of several processes, too, with or without prefixes that tell them apart.
Printed read_evidence(std::string_view printed, const FailureCatalog& catalog);

}  // namespace envgen
