#pragma once
// The output of a hook as lines of trainit's log: whole lines with the prefix "hook <name>: ",
// limited in size. If no process reads stderr, the lines wait here and the hook continues.

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
  // Adds output of the hook. Leaves out empty lines. Keeps only the last version of a line that
  // '\r' overwrites, as a terminal shows it. Splits a line of more than 3500 bytes.
  void add(std::string_view bytes);
  // Ends the output: the last line needs no newline. Logs how many bytes exceeded kMaxBytes.
  void end();
  // Adds a line of trainit's own after the lines that wait.
  void say(sys::log::Level level, std::string text);

  [[nodiscard]] bool waits() const { return !waiting_.empty(); }
  // Writes waiting lines as long as stderr takes them at once, up to a limit per call.
  void write_ready();
  // Writes all waiting lines. Lines that stderr does not take are lost; the log counts them.
  void write_all();

  // Returns the hook's last lines as one line of printable characters without credentials. Lines
  // beyond kMaxBytes are included.
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
