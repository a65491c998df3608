#pragma once
// A process's share of an output that several share: whole lines, each behind the process's prefix.
// A carriage return ends a piece as a newline does and the prefix is repeated behind it, so that a
// progress bar keeps it. A line without an end goes out when flush() says so; where somebody else
// writes then they begin a new line, and when its end comes the line is shown again, whole. Lines
// of more than kLongestLine may be cut.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "init/tee/stdout_mirror.h"

namespace logtee {

// Where the last writer of an output has left it.
struct Cursor {
  int owner = -1;         // who has written last
  bool open = false;      // in the middle of a line
  bool returned = false;  // at the begin of a line that has text, behind '\r'
};

class Lines {
 public:
  static constexpr std::size_t kLongestLine = 64U << 10;

  Lines(int id, std::string prefix) : id_(id), prefix_(std::move(prefix)) {}

  void add(std::string_view bytes, StdoutMirror& mirror, Cursor& cursor);
  void flush(StdoutMirror& mirror, Cursor& cursor);
  // There is text without an end that was not shown.
  [[nodiscard]] bool waiting() const { return line_.size() > shown_; }
  // That text is a bar which is drawn anew again and again, not a line.
  [[nodiscard]] bool draws() const { return draws_; }

 private:
  // A piece, with its end if it has one.
  void put(std::string_view piece, StdoutMirror& mirror, Cursor& cursor);

  int id_;
  std::string prefix_;
  std::string line_;       // without an end,
  std::size_t shown_ = 0;  // so much of which was shown
  bool draws_ = false;
};

}  // namespace logtee
