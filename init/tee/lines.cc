#include "init/tee/lines.h"

namespace logtee {

void Lines::put(std::string_view piece, StdoutMirror& mirror, Cursor& cursor) {
  const bool mine = cursor.owner == id_;
  const char last = piece.back();
  // Ends the open text of another process, so that it stays visible. A progress bar is only kept
  // from being overwritten if this piece is a line.
  if (!mine && (cursor.open || (cursor.returned && last == '\n'))) mirror.put("\n");
  const bool goes_on = mine && (cursor.open || (cursor.returned && piece == "\n"));
  if (!goes_on && piece != "\r") mirror.put(prefix_);
  mirror.put(piece);
  cursor = {.owner = id_, .open = last != '\n' && last != '\r', .returned = last == '\r'};
  if (!cursor.open) draws_ = cursor.returned;
}

void Lines::add(std::string_view bytes, StdoutMirror& mirror, Cursor& cursor) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t within = newline == std::string_view::npos ? bytes.size() : newline + 1;
    std::size_t size = within;
    const std::size_t back = bytes.substr(0, within).find('\r');
    if (back != std::string_view::npos) size = back + (back + 2 == within ? 2 : 1);
    const bool ends = newline != std::string_view::npos || back != std::string_view::npos;
    const std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (ends && line_.empty()) {
      put(piece, mirror, cursor);
      continue;
    }
    line_ += piece;
    if (!ends && line_.size() <= kLongestLine) continue;
    flush(mirror, cursor);
    line_.clear();
    shown_ = 0;
  }
}

void Lines::flush(StdoutMirror& mirror, Cursor& cursor) {
  if (!waiting()) return;
  const bool goes_on = shown_ > 0 && cursor.owner == id_ && cursor.open;
  put(std::string_view(line_).substr(goes_on ? shown_ : 0), mirror, cursor);
  shown_ = line_.size();
}

}  // namespace logtee
