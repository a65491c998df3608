#pragma once
// The share of one process in an output that several processes share. Lines are written whole, each
// after the process's prefix. A carriage return ends a piece as a newline does, and the prefix is
// repeated after it, so that a progress bar keeps it.
//
// A line without an end is written by flush(). If another process writes then, that process begins
// a new line. When the end of the first line comes, that line is shown again as a whole. Lines of
// more than kLongestLine may be cut.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "init/tee/stdout_mirror.h"

namespace logtee {

// The position where the last writer of an output has left it.
struct Cursor {
  int owner = -1;         // id of the last writer
  bool open = false;      // the output ends within a line
  bool returned = false;  // the output ends behind '\r', at the start of a line that has text
};

class Lines {
 public:
  static constexpr std::size_t kLongestLine = 64U << 10;

  Lines(int id, std::string prefix) : id_(id), prefix_(std::move(prefix)) {}

  void add(std::string_view bytes, StdoutMirror& mirror, Cursor& cursor);
  void flush(StdoutMirror& mirror, Cursor& cursor);
  // Returns true if there is text without an end that was not shown.
  [[nodiscard]] bool waiting() const { return line_.size() > shown_; }
  // Returns true if that text is a progress bar, which is drawn again and again, not a line.
  [[nodiscard]] bool draws() const { return draws_; }

 private:
  // Writes a piece, with its end if it has one.
  void put(std::string_view piece, StdoutMirror& mirror, Cursor& cursor);

  int id_;
  std::string prefix_;
  std::string line_;       // text without an end
  std::size_t shown_ = 0;  // bytes of line_ that were shown
  bool draws_ = false;
};

}  // namespace logtee
