#pragma once
// The output of a hook, as lines of our log: whole, "hook <name>: " before each, and bounded.
// Nothing here waits for whoever reads stderr, so a hook never does either.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "init/sys/log.h"

namespace engine {

class HookOutput {
 public:
  static constexpr std::size_t kMaxBytes = 256U << 10;  // of one hook, names before lines counted

  void begin(std::string_view hook);
  // As it came from the hook. Empty lines are left out; of what '\r' paints over the last is kept,
  // as a terminal shows it; a line of more than 3500 bytes becomes several.
  void add(std::string_view bytes);
  // Takes a last line without an end, and says how much was not shown.
  void end();
  // A line of ours, behind all that waits.
  void say(sys::log::Level level, std::string text);

  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  // As many lines as stderr takes now, though not without end.
  void write_ready();
  // All that waits: what stderr does not take is dropped, and counted by the log.
  void write_all();

  // The hook's last lines, shown or not, as one line of printable characters without credentials.
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
