#pragma once
// Writes the output of one process to a stream that several processes share. Lines are written
// whole, each after the process's prefix. A carriage return ends a piece as a newline does, and the
// prefix is repeated after it, so that a progress bar keeps it.
//
// flush() writes a line that has no end yet. If another process writes then, its text begins on a
// new line. When the end of the first line comes, that line is shown again as a whole. Lines of
// more than kLongestLine may be cut.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "init/tee/stdout_mirror.h"

namespace logtee {

// Where the last writer has left a shared stream.
struct Cursor {
  int owner = -1;         // id of the last writer
  bool open = false;      // the stream ends within a line
  bool returned = false;  // the stream ends with '\r', so the cursor is at the start of a line that
                          // has text
};

class Lines {
 public:
  static constexpr std::size_t kLongestLine = 64U << 10;

  Lines(int id, std::string prefix) : id_(id), prefix_(std::move(prefix)) {}

  void add(std::string_view bytes, StdoutMirror& mirror, Cursor& cursor);
  void flush(StdoutMirror& mirror, Cursor& cursor);
  // Returns true if there is text without a line end that was not shown yet.
  [[nodiscard]] bool waiting() const { return line_.size() > shown_; }
  // Returns true if that text is a progress bar, which is drawn repeatedly, and not a line.
  [[nodiscard]] bool draws() const { return draws_; }

 private:
  // Writes a piece of a line, with its end if it has one.
  void put(std::string_view piece, StdoutMirror& mirror, Cursor& cursor);

  int id_;
  std::string prefix_;
  std::string line_;       // text of a line that has no end yet
  std::size_t shown_ = 0;  // bytes of line_ that were shown
  bool draws_ = false;
};

}  // namespace logtee
