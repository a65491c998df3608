#pragma once
// A line of a log, divided into its text and the prefixes of launchers and loggers. Prefixes are
// `[rank1]:`, `rank1: `, `(Worker pid=1)`, srun's `15: `, mpirun's `[1,0]<stderr>:` and `[0] `,
// times, and levels.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace envgen {

struct PrintedLine {
  std::string text;      // the line, cleaned by plain_text()
  std::size_t body = 0;  // index in `text` of the first byte after the prefixes
  std::string stream;    // the prefixes that identify a process; "": the line has no such prefix

  [[nodiscard]] std::string_view bare() const { return std::string_view(text).substr(body); }
};

PrintedLine printed_line(std::string_view line);

// Returns `line` without rank prefixes: `[default0]:[rank0]: `, `15: `, `[1,0]<stderr>:`. Keeps a
// host name, a time and a level, because they are useful to a reader.
std::string_view without_rank(std::string_view line);

// The severity of a line. A logger writes it as a word or letter (`ERROR`, `[E 12:01`,
// `slurmstepd: error: `) or as a field of a record (`"level":"error"`, `level=error`).
enum class LogLevel : std::uint8_t { kNone, kInfo, kWarning, kError };
LogLevel log_level(const PrintedLine& line);

}  // namespace envgen
