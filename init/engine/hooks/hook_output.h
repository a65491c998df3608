#pragma once
// The output of a hook as lines of trainit's log: whole lines with the prefix "hook <name>: ",
// bounded in size. No call waits for the reader of stderr, so the hook does not wait either.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "init/sys/log.h"

namespace engine {

class HookOutput {
 public:
  static constexpr std::size_t kMaxBytes = 256U << 10;  // limit per hook, including the prefixes

  void begin(std::string_view hook);
  // Adds bytes as they came from the hook. Empty lines are left out. Of text that '\r' overwrites,
  // the last version is kept, as on a terminal. A line of more than 3500 bytes becomes several.
  void add(std::string_view bytes);
  // Ends the last line if it has no newline, and logs how many bytes were not shown.
  void end();
  // Adds a line of trainit's own after all waiting lines.
  void say(sys::log::Level level, std::string text);

  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  // Writes as many waiting lines as stderr takes now, up to a limit.
  void write_ready();
  // Writes all waiting lines. The log drops and counts what stderr does not take.
  void write_all();

  // Returns the hook's last lines, shown or not, as one line of printable characters without
  // credentials.
  [[nodiscard]] std::string output_tail() const;

 private:
  struct Line {
    sys::log::Level level;
    std::string text;
  };
  void take_line();
  void write_first();

  std::string prefix_;
  std::string line_;
  std::deque<std::string> last_;
  std::size_t shown_bytes_ = 0;
  std::size_t hidden_bytes_ = 0;
  std::deque<Line> waiting_;
};

}  // namespace engine
