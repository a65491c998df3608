#pragma once
// One line of a log, and what launchers put in front of it: `[rank1]:`, `rank1: `, `(Worker
// pid=1)`, srun's `15: `, mpirun's `[1,0]<stderr>:` and `[0] `, times, levels.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace envgen {

struct PrintedLine {
  std::string text;      // as plain_text has it
  std::size_t body = 0;  // where it begins behind the prefixes
  std::string stream;    // the prefixes that tell a process from others; "" without one

  [[nodiscard]] std::string_view bare() const { return std::string_view(text).substr(body); }
};

PrintedLine printed_line(std::string_view line);

// Returns `line` without the ranks before it: `[default0]:[rank0]: `, `15: `, `[1,0]<stderr>:`. The
// name of a host, a time and a level stay, since they tell a reader something.
std::string_view without_rank(std::string_view line);

// How bad a line is by the word or letter that its logger put before it: `ERROR`, `[E 12:01`,
// `slurmstepd: error: `, or by the field of a record: `"level":"error"`, `level=error`.
enum class LogLevel : std::uint8_t { kNone, kInfo, kWarning, kError };
LogLevel log_level(const PrintedLine& line);

}  // namespace envgen
