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

// Returns the current values of the counters. `waiting`: they belong to another job's copy.
CopyProgress progress_of(const Counters& counters, bool waiting = false);
Stall stall_of(const Counters& counters);

class ProgressView {
 public:
  static constexpr std::int64_t kLineEveryMs = 5'000;
  static constexpr std::int64_t kBarEveryMs = 200;

  // Creates a view that writes to stderr: a bar if that is a terminal, otherwise lines. `name` is
  // shown before the text; "" = no name. `places` names the two sides in lines about a stall.
  explicit ProgressView(std::string name, CopyPlaces places = {});
  // Creates a view that calls `say` with each line, without its line end.
  ProgressView(std::string name, CopyPlaces places, std::function<void(std::string_view)> say);

  // Shows the progress. Call it several times a second. A bar appears at once, but the first line
  // only after kLineEveryMs, because a quick copy needs no line. The beginning and the end of a
  // stall are lines that appear at once, also above a bar.
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
