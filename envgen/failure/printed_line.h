#pragma once
// One line of a log, and what launchers put in front of it: `[rank1]:`, `(Worker pid=1)`, srun's
// `15: `, mpirun's `[1,0]<stderr>:`, times, levels.

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

// How bad a line is by its own words: `ERROR`, `[E 12:01`, `FATAL: `, as loggers write them.
enum class ErrorLevel : std::uint8_t { kNone, kError, kFatal };
ErrorLevel error_level(const PrintedLine& line);

// What training prints when all is well: a step, an epoch, a loss, a bar.
bool is_progress(std::string_view text);

}  // namespace envgen
