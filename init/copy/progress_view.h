#pragma once
// The progress of a copy for a person: a bar that is redrawn on a terminal, otherwise a line every
// few seconds. The view never blocks on a slow reader: it drops text that does not fit.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "init/copy/copy_progress.h"
#include "init/copy/progress.h"
#include "init/sys/nonblocking_writer.h"

namespace copy {

// Returns the numbers as they are now. `waiting`: they are those of another job's copy.
CopyProgress progress_of(const Counters& counters, bool waiting = false);
Stall stall_of(const Counters& counters);

class ProgressView {
 public:
  static constexpr std::int64_t kLineEveryMs = 5'000;
  static constexpr std::int64_t kBarEveryMs = 200;

  // Writes to stderr: a bar if that is a terminal. `name`: the source's; "" = not shown. `places`:
  // their names in lines about a stall.
  explicit ProgressView(std::string name, CopyPlaces places = {});
  // Calls `say` with lines, each without an end of line.
  ProgressView(std::string name, CopyPlaces places, std::function<void(std::string_view)> say);

  // Call it several times a second. A bar appears at once, the first line after kLineEveryMs: a
  // quick copy needs none. A stall, and its end, are a line at once, also above a bar.
  void show(const Counters& counters, bool waiting = false);
  // Erases the bar, so that other lines can follow.
  void clear();

 private:
  void say_line(std::string_view text);

  std::string name_;
  CopyPlaces places_;
  StallLines stalls_;
  std::function<void(std::string_view)> say_;
  sys::NonblockingWriter writer_;
  bool bar_ = false;
  bool drawn_ = false;
  std::int64_t next_ms_;
  std::string_view phase_;  // a name of phase_name()
  RateWindow window_;
};

}  // namespace copy
