#pragma once
// A process's share of an output that several share: whole lines, each behind the process's prefix.
// A carriage return ends a piece as a newline does and the prefix is repeated behind it, so that a
// progress bar keeps it. A line without an end goes out when flush() says so; whoever else writes
// then begins a new line, and the process goes on behind a prefix. Lines of more than kLongestLine
// may be cut that way too.

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
  // There is a line without an end that was not shown.
  [[nodiscard]] bool waiting() const { return !line_.empty(); }

 private:
  // A piece, with its end if it has one.
  void put(std::string_view piece, StdoutMirror& mirror, Cursor& cursor) const;

  int id_;
  std::string prefix_;
  std::string line_;
};

}  // namespace logtee
